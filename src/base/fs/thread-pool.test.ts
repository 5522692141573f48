import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { buildSlowSync } from '../../../test/support/build-c.ts'
import { projectRoot, World } from '../../../test/support/world.ts'
import { paceAfter, type SyncPace, threadPoolAt } from './thread-pool.ts'

const quick: SyncPace = { isSlow: false, quick: 0 }
const after = (pace: SyncPace, ...syncMs: number[]): SyncPace => syncMs.reduce(paceAfter, pace)

test('one sync above 2 ms makes a file system slow, and 64 in a row under 1 ms make it quick again', () => {
  expect(after(quick, 0.2, 1.9, 2).isSlow).toBe(false)
  const slow = after(quick, 2.1)
  expect(slow.isSlow).toBe(true)
  const almost = after(slow, ...Array<number>(63).fill(0.9))
  expect(almost.isSlow).toBe(true)
  expect(after(almost, 0.9).isSlow).toBe(false)
  // A sync that is neither quick nor slow begins the count again.
  expect(after(almost, 1.5, ...Array<number>(63).fill(0.9)).isSlow).toBe(true)
})

test('a path whose file system cannot be told has a pool, too: the operation itself reports the fault', () => {
  expect(threadPoolAt('/proc/1/no/such/path')).toBe(threadPoolAt('/proc/1/no/other'))
  expect(threadPoolAt('/proc/1/no/such/path')).not.toBe(threadPoolAt('/'))
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
