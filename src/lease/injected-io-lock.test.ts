import { createHash } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import * as lock from './injected-io-lock.ts'

let record: lock.LockRecord | null
const io = {
  readLock: () => record,
  writeLock: (next: lock.LockRecord) => (record = next),
  deleteLock: () => (record = null),
}
const now = 1_000_000
const acquire = (sessionId: string, at = now, more = {}) =>
  lock.acquire({ sessionId, pid: 42, workspaceHash: 'abc', now: at, ...io, ...more })

beforeEach(() => {
  record = null
})

test('a free lock is taken, with a record of its holder', () => {
  expect(acquire('a')).toEqual({ acquired: true, holder: { session_id: 'a', pid: 42, acquired_at: now } })
  expect(record).toEqual({ schema_version: 1, session_id: 'a', pid: 42, acquired_at: now, ttl_ms: 300_000 })
})

test('the fresh lock of another session is refused with its holder, up to the exact TTL; a stale one is taken', () => {
  acquire('a')
  const holder = { session_id: 'a', pid: 42, acquired_at: now }
  expect(acquire('b', now + 300_000)).toEqual({ acquired: false, holder })
  expect(record?.session_id).toBe('a')
  expect(acquire('b', now + 300_001)).toMatchObject({ acquired: true, holder: { session_id: 'b' } })
})

test('a session takes its own lock again', () => {
  acquire('a')
  expect(acquire('a', now + 5)).toEqual({
    acquired: true,
    holder: { session_id: 'a', pid: 42, acquired_at: now + 5 },
  })
  expect(record?.acquired_at).toBe(now + 5)
})

test('refresh and release act only for the owner', () => {
  acquire('a')
  expect(lock.refresh({ sessionId: 'b', workspaceHash: 'abc', now: now + 1, ...io })).toEqual({
    refreshed: false,
  })
  lock.release({ sessionId: 'b', workspaceHash: 'abc', ...io })
  expect(record?.acquired_at).toBe(now)
  expect(lock.refresh({ sessionId: 'a', workspaceHash: 'abc', now: now + 1, ...io })).toEqual({
    refreshed: true,
  })
  expect(record).toMatchObject({ acquired_at: now + 1, pid: 42, ttl_ms: 300_000 })
  lock.release({ sessionId: 'a', workspaceHash: 'abc', ...io })
  expect(record).toBeNull()
  expect(lock.refresh({ sessionId: 'a', workspaceHash: 'abc', now, ...io })).toEqual({ refreshed: false })
})

test('a refresh sets the given TTL, or the default', () => {
  acquire('a', now, { ttlMs: 1000 })
  lock.refresh({ sessionId: 'a', now: now + 1, ttlMs: 2000, ...io })
  expect(record?.ttl_ms).toBe(2000)
  lock.refresh({ sessionId: 'a', now: now + 1, ...io })
  expect(record?.ttl_ms).toBe(lock.LOCK_DEFAULT_TTL_MS)
})

test.each([
  {},
  { session_id: 'a' },
  { session_id: 'a', acquired_at: 'x' },
  { session_id: 'a', acquired_at: 1e15 },
  5,
  'x',
  [],
])('the invalid record %j blocks no session', (bad) => {
  record = bad as lock.LockRecord
  expect(acquire('b').acquired).toBe(true)
})

test('decide blocks a lock of another session with a sentence that names it, and otherwise fails open', () => {
  acquire('a')
  expect(lock.decide(acquire('b'), 'b')).toEqual({
    block: true,
    reason: 'parallel session lock held by a (pid 42) — wait or close that session first',
  })
  expect(lock.decide(acquire('a'), 'a')).toEqual({ block: false })
  expect(lock.decide(undefined, 'a')).toEqual({ block: false })
  expect(lock.decide(null, 'a')).toEqual({ block: false })
})

test('constants and hash do not change', () => {
  expect([lock.LOCK_SCHEMA_VERSION, lock.LOCK_DEFAULT_TTL_MS]).toEqual([1, 300_000])
  for (const path of ['/a/b', '', 'ü']) {
    expect(lock.computeWorkspaceHash(path)).toBe(
      createHash('md5').update(path, 'utf-8').digest('hex').slice(0, 12),
    )
  }
})
