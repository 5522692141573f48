import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { lockStorm, type StormReport, summary } from '../../test/support/lock-storm.ts'

const unbroken = { overlaps: [], doubles: [], faults: [], unheard: 0 }

test('16 processes, 100 rounds, killed and stopped anywhere: never two holders, and fences increase', async () => {
  const report = await lockStorm({ lock: 'lease', processes: 16, rounds: 100 })
  console.log(summary(report))
  expect(report).toMatchObject(unbroken)
  expect(report.grants).toBeGreaterThan(report.rounds)
  for (const count of [report.kills, report.killedHolders, report.stops]) expect(count).toBeGreaterThan(0)
})

test('the same on the disk', async () => {
  const report = await lockStorm({ lock: 'lease', processes: 8, rounds: 20, under: tmpdir() })
  console.log(summary(report))
  expect(report).toMatchObject(unbroken)
})

const seenByBoth = ({ overlaps, doubles }: StormReport) => overlaps.length > 0 && doubles.length > 0

test.each(['read-then-write', 'proper-lockfile'] as const)(
  'the same storm over a %s lock finds two holders, with both detectors',
  async (lock) => {
    const report = await lockStorm({ lock, processes: 16, rounds: 2000, enough: seenByBoth })
    console.log(summary(report))
    expect(seenByBoth(report)).toBe(true)
  },
)
