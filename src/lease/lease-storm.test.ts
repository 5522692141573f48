import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { lockStorm, type StormReport, summary } from '../../test/support/lock-storm.ts'

const unbroken = { overlaps: [], doubles: [], faults: [], unheard: 0 }

// `npm run torture` storms for 3,000 rounds, with 16 processes.
test('8 processes, killed and stopped at any point, never hold a lock together, and fences increase', async () => {
  const struckAll = ({ kills, killedHolders, stops }: StormReport) =>
    Math.min(kills, killedHolders, stops) > 0
  const enough = (report: StormReport) => report.rounds >= 12 && struckAll(report)
  const report = await lockStorm({ lock: 'lease', processes: 8, rounds: 100, enough })
  console.log(summary(report))
  expect(report).toMatchObject(unbroken)
  expect(report.grants).toBeGreaterThan(report.rounds)
  expect(struckAll(report)).toBe(true)
})

test('8 processes on the disk never hold a lock together', async () => {
  const report = await lockStorm({ lock: 'lease', processes: 8, rounds: 8, under: tmpdir() })
  console.log(summary(report))
  expect(report).toMatchObject(unbroken)
})

const seenByBoth = ({ overlaps, doubles }: StormReport) => overlaps.length > 0 && doubles.length > 0

test.each(['read-then-write', 'proper-lockfile'] as const)(
  'over a %s lock, both detectors of the storm find two holders',
  async (lock) => {
    const report = await lockStorm({ lock, processes: 16, rounds: 2000, enough: seenByBoth })
    console.log(summary(report))
    expect(seenByBoth(report)).toBe(true)
  },
)
