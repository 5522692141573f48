import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { fastDirectory, lockStorm, summary } from '../support/lock-storm.ts'

test.each([
  ['in memory', 3000, fastDirectory],
  ['on the disk', 300, tmpdir()],
])(
  '16 processes %s, in %i rounds, killed and stopped at any point, never hold the lock together',
  async (_, rounds, under) => {
    const report = await lockStorm({ lock: 'lease', processes: 16, rounds, under })
    console.log(summary(report))
    expect(report).toMatchObject({ overlaps: [], doubles: [], faults: [] })
    expect(report.grants).toBeGreaterThan(report.rounds)
  },
)

test.each(['read-then-write', 'proper-lockfile'] as const)(
  'the storm finds two holders of a %s lock',
  async (lock) => {
    const report = await lockStorm({ lock, processes: 16, rounds: 200 })
    console.log(summary(report))
    expect(report.overlaps.length).toBeGreaterThan(0)
    expect(report.doubles.length).toBeGreaterThan(0)
  },
)
