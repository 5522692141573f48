import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { buildSlowSync } from '../../../test/support/build-c.ts'
import { projectRoot, World } from '../../../test/support/world.ts'
import { adaptiveDiskAt, paceAfter, quickPace, type SyncPace } from './adaptive-disk.ts'

/** The pace after syncs that took so long, in milliseconds, one every 20 ms. */
function after(pace: SyncPace, ...syncMs: number[]): SyncPace {
  return syncMs.reduce((last, each, index) => paceAfter(last, each, 20 * (index + 1)), pace)
}
const times = (count: number, syncMs: number): number[] => Array<number>(count).fill(syncMs)

test('one sync above 2 ms makes a file system slow, and later 64 in a row that are quick make it quick again', () => {
  expect(after(quickPace, 0.2, 1.9, 2).isSlow).toBe(false)
  expect(after(quickPace, 2.1).isSlow).toBe(true)
  expect(after(quickPace, 2.1, ...times(63, 2)).isSlow).toBe(true)
  expect(after(quickPace, 2.1, ...times(64, 2)).isSlow).toBe(false)
  // A slow sync begins the count again.
  expect(after(quickPace, 2.1, ...times(63, 0.9), 2.1, ...times(63, 0.9)).isSlow).toBe(true)
})

test('a file system stays slow for 25 times as long as its slow sync took, whatever happens in the thread pool', () => {
  const after200Ms = (syncMs: number): SyncPace =>
    times(63, 0.1).reduce((pace, each) => paceAfter(pace, each, 100), paceAfter(quickPace, syncMs, 0))
  expect(paceAfter(after200Ms(8), 0.1, 199).isSlow).toBe(true)
  expect(paceAfter(after200Ms(8), 0.1, 200).isSlow).toBe(false)
  // A call in the pool seems to take an hour if the process was suspended for that long.
  const suspended = paceAfter(paceAfter(quickPace, 8, 0), 3_600_000, 3_600_000)
  expect(times(64, 0.1).reduce((pace, each) => paceAfter(pace, each, 3_600_001), suspended).isSlow).toBe(
    false,
  )
})

test('slow syncs take at most a 25th of the time of the event loop, even if one follows at the worst moment', () => {
  const slow = fc.double({ min: 2.1, max: 200, noNaN: true })
  fc.assert(
    fc.property(
      fc.array(fc.record({ onLoopMs: slow, inPoolMs: fc.array(slow, { maxLength: 3 }) }), { minLength: 1 }),
      fc.double({ min: 1, max: 20, noNaN: true }),
      (stalls, everyMs) => {
        let [pace, nowMs, stalledMs] = [quickPace, 0, 0]
        const sync = (tookMs: number): void => {
          nowMs += tookMs
          pace = paceAfter(pace, tookMs, nowMs)
        }
        for (const { onLoopMs, inPoolMs } of stalls) {
          expect(pace.isSlow).toBe(false)
          sync(onLoopMs)
          stalledMs += onLoopMs
          for (const each of inPoolMs) sync(each)
          while (pace.isSlow) {
            nowMs += everyMs
            sync(0.1)
          }
        }
        expect(stalledMs).toBeLessThanOrEqual(nowMs / 25)
      },
    ),
  )
})

test('a path whose file system cannot be told has a disk, too: the operation itself reports the fault', () => {
  expect(adaptiveDiskAt('/proc/1/no/such/path')).toBe(adaptiveDiskAt('/proc/1/no/other'))
  expect(adaptiveDiskAt('/proc/1/no/such/path')).not.toBe(adaptiveDiskAt('/'))
})

/** Runs `test/fixtures/slow-disk.mjs` where each sync takes 5 ms; returns where the syncs ran. */
async function syncsOf(what: string): Promise<{ where: string; underWay: number }[]> {
  await using world = new World()
  const log = join(world.tmp, 'syncs')
  const fixture = join(projectRoot, 'test/fixtures/slow-disk.mjs')
  const { code, stdout, stderr } = await world.start(
    process.execPath,
    [fixture, join(world.tmp, 'home'), what],
    {
      env: { LD_PRELOAD: buildSlowSync(world.tmp), SLOW_SYNC_MS: '5', SLOW_SYNC_LOG: log },
    },
  ).finished
  expect([code, stdout, stderr]).toEqual([0, 'done\n', ''])
  const lines = readFileSync(log, 'utf8').trim().split('\n')
  return lines.map((line) => ({ where: line.slice(0, 4), underWay: Number(line.slice(5)) }))
}

test('on a slow disk, no operation on a session syncs on the event loop, except the first sync', async () => {
  const [first, ...others] = await syncsOf('all')
  expect(first?.where).toBe('main')
  expect(others.length).toBeGreaterThan(60)
  expect(others.filter(({ where }) => where !== 'pool')).toEqual([])
})

test('all sessions of a process together have at most two syncs under way', async () => {
  const syncs = await syncsOf('many')
  expect(Math.max(...syncs.map(({ underWay }) => underWay))).toBe(2)
})
