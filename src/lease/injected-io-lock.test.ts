import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import * as lock from './injected-io-lock.ts'
import { findWorkspace } from './workspace.ts'

let record: lock.LockRecord | null
const io = {
  readLock: () => record,
  writeLock: (next: lock.LockRecord) => (record = next),
  deleteLock: () => (record = null),
}
const now = 1_000_000
const acquire = (sessionId: string, at = now, more = {}) =>
  lock.acquire({ sessionId, pid: 42, workspaceHash: 'abc', now: at, ...io, ...more })

/** Stores a record as another program, or a damaged file, would give it. */
const plant = (value: unknown) => (record = value as lock.LockRecord)

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

test.each([null, undefined, 'long', Number.NaN, Number.POSITIVE_INFINITY])(
  'a record with the lifetime %j counts five minutes',
  (ttl) => {
    plant({ session_id: 'a', pid: 7, acquired_at: now, ttl_ms: ttl })
    expect(acquire('b', now + 300_000).acquired).toBe(false)
    expect(acquire('b', now + 300_001).acquired).toBe(true)
  },
)

test('a session refreshes and releases its own record, whatever else is in it', () => {
  plant({ session_id: 'a', pid: 7, acquired_at: 'x', note: 'mine' })
  expect(lock.refresh({ sessionId: 'a', now, ...io })).toEqual({ refreshed: true })
  expect(record).toEqual({ schema_version: 1, session_id: 'a', pid: 7, acquired_at: now, ttl_ms: 300_000 })
  plant({ session_id: 'a', acquired_at: 1e15 })
  lock.release({ sessionId: 'a', ...io })
  expect(record).toBeNull()
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
  const { path, key } = findWorkspace()
  expect(key).toBe(lock.computeWorkspaceHash(path))
})

/** What `readLock` returns: by its type a record, but a file can contain anything. */
type Stored = lock.LockRecord | null | undefined

/**
 * The rules of the lock as they were first written down. A record keeps other sessions out until more than
 * its lifetime has passed since `acquired_at`. A lifetime that is no number is five minutes, and a missing
 * `acquired_at` is the year 1970. Only the session that a record names can refresh or release it.
 */
const original = {
  keepsOut: (stored: Stored, now: number): boolean =>
    stored !== null &&
    typeof stored === 'object' &&
    !(now - (stored.acquired_at || 0) > (typeof stored.ttl_ms === 'number' ? stored.ttl_ms : 300_000)),
  isOwn: (stored: Stored, sessionId: string): boolean => Boolean(stored) && stored?.session_id === sessionId,
}

/** Where stint deliberately lets a session in that the original rules would keep out, perhaps for ever. */
const exceptions: Record<string, (stored: lock.LockRecord, now: number) => boolean> = {
  'the record names no session': ({ session_id }) => typeof session_id !== 'string',
  'acquired_at is not a finite number': ({ acquired_at }) => !Number.isFinite(acquired_at),
  'acquired_at is further in the future than the record lasts': ({ acquired_at, ttl_ms }, now) =>
    acquired_at - now > (Number.isFinite(ttl_ms) ? ttl_ms : 300_000),
  'the lifetime is NaN or infinite, and five minutes have passed': ({ acquired_at, ttl_ms }, now) =>
    typeof ttl_ms === 'number' && !Number.isFinite(ttl_ms) && now - acquired_at > 300_000,
}

test.each([
  ['the record names no session', { acquired_at: now, ttl_ms: 1000 }],
  ['the record names no session', { session_id: 5, acquired_at: now }],
  ['acquired_at is not a finite number', { session_id: 'a', acquired_at: 'x' }],
  ['acquired_at is not a finite number', { session_id: 'a', acquired_at: Number.POSITIVE_INFINITY }],
  [
    'acquired_at is further in the future than the record lasts',
    { session_id: 'a', acquired_at: 1e15, ttl_ms: null },
  ],
  [
    'the lifetime is NaN or infinite, and five minutes have passed',
    { session_id: 'a', acquired_at: now - 300_001, ttl_ms: Number.NaN },
  ],
])('a deliberate difference to the original rules: %s (%j)', (name, value) => {
  const stored = value as lock.LockRecord
  expect(original.keepsOut(stored, now)).toBe(true)
  expect(exceptions[name]?.(stored, now)).toBe(true)
  plant(stored)
  expect(acquire('b').acquired).toBe(true)
})

const someTime = fc.oneof(
  fc.integer({ min: now - 700_000, max: now + 700_000 }),
  fc.constantFrom(now - 300_001, now - 300_000, now, now + 300_000, now + 300_001, 0, 1e15),
)
const someLifetime = fc.oneof(fc.integer({ min: -1000, max: 700_000 }), fc.constantFrom(0, 1, 300_000, 1e15))
const anyValue = fc.constantFrom<unknown>(
  null,
  undefined,
  '',
  'x',
  '5',
  true,
  Number.NaN,
  Infinity,
  -Infinity,
  [],
)
const sessionId = fc.constantFrom('a', 'b', 'c')
const storedRecord = fc.oneof(
  fc.record({ session_id: sessionId, pid: fc.nat(), acquired_at: someTime, ttl_ms: someLifetime }),
  fc.record(
    {
      session_id: fc.oneof(sessionId, anyValue),
      pid: fc.oneof(fc.nat(), anyValue),
      acquired_at: fc.oneof(someTime, anyValue),
      ttl_ms: fc.oneof(someLifetime, anyValue),
      note: fc.string(),
    },
    { requiredKeys: [] },
  ),
  fc.constantFrom<unknown>(null, undefined, 0, 5, 'x', '', [], true),
)
const step = fc.oneof(
  fc.record({ does: fc.constant('plant' as const), stored: storedRecord }),
  fc.record({
    does: fc.constantFrom('acquire' as const, 'refresh' as const, 'release' as const),
    sessionId,
    at: someTime,
    ttlMs: fc.option(someLifetime, { nil: undefined }),
  }),
)

test('random sequences of calls follow the original rules, but for the deliberate differences', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      record = null
      for (const each of steps) {
        if (each.does === 'plant') plant(each.stored)
        else checkStep(each)
      }
    }),
    { numRuns: 2000 },
  )
})

/** Does one step, and compares the answer and the stored record with those of the original rules. */
function checkStep({ does, sessionId, at, ttlMs }: Exclude<StepOf<typeof step>, { does: 'plant' }>): void {
  const before: Stored = record
  const isOwn = original.isOwn(before, sessionId)
  const written = (pid: unknown) => {
    return { schema_version: 1, session_id: sessionId, pid, acquired_at: at, ttl_ms: ttlMs ?? 300_000 }
  }
  if (does === 'refresh') {
    expect(lock.refresh({ sessionId, now: at, ttlMs, ...io })).toEqual({ refreshed: isOwn })
    expect(record).toEqual(isOwn ? written(before?.pid) : before)
  } else if (does === 'release') {
    lock.release({ sessionId, ...io })
    expect(record).toEqual(isOwn ? null : before)
  } else {
    const isException = (stored: lock.LockRecord) =>
      Object.values(exceptions).some((applies) => applies(stored, at))
    const isRefused = Boolean(before && !isOwn && original.keepsOut(before, at) && !isException(before))
    const result = acquire(sessionId, at, { ttlMs })
    const { session_id, pid, acquired_at } = (isRefused && before) || written(42)
    expect(result).toEqual({ acquired: !isRefused, holder: { session_id, pid, acquired_at } })
    expect(record).toEqual(isRefused ? before : written(42))
    expect(lock.decide(result, sessionId).block).toBe(isRefused)
  }
}

type StepOf<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Step> ? Step : never
