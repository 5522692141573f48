/**
 * A lock of one record and one holder, as pure functions over I/O that the caller passes in. They read and
 * write in two steps: two callers that both read before either writes both get the lock. Use `acquireLease`
 * wherever you can.
 *
 * A record may come from another program, or be damaged. One whose `ttl_ms` is not a number, or is infinite,
 * lasts five minutes. A record of another session does not block if it names no session, if its `acquired_at`
 * is not a finite number, or if that time is further in the future than the record lasts: such a record could
 * block for ever. A session can refresh and release its own record, whatever else is in it.
 *
 * @module stint/lock
 */
import { md5 } from '../base/text/md5.ts'

/** The version of the lock record. */
export const LOCK_SCHEMA_VERSION = 1
/** How long a lock lasts without a refresh: 5 minutes, in milliseconds. */
export const LOCK_DEFAULT_TTL_MS = 5 * 60_000

export interface LockRecord {
  schema_version: number
  session_id: string
  pid: number
  acquired_at: number
  ttl_ms: number
}

export type LockHolder = Pick<LockRecord, 'session_id' | 'pid' | 'acquired_at'>

export interface AcquireResult {
  acquired: boolean
  holder?: LockHolder
}

interface Reads {
  sessionId: string
  workspaceHash?: string
  readLock: () => LockRecord | null | undefined
}

/** First 12 hex digits of the MD5 of the path, which is not resolved. */
export const computeWorkspaceHash = (path: string): string => md5(String(path || '')).slice(0, 12)

/** The first sentence that a blocked session reads. */
export const blockReason = (sessionId: string, pid: number | null): string =>
  `parallel session lock held by ${sessionId} (pid ${pid ?? '-'}) — wait or close that session first`

/** Takes a lock that is free, stale or the session's own; refuses a fresh lock of another session. */
export function acquire(
  args: Reads & { pid: number; now: number; writeLock: (record: LockRecord) => void; ttlMs?: number },
): AcquireResult {
  const { sessionId, pid, now, ttlMs = LOCK_DEFAULT_TTL_MS } = args
  const existing = args.readLock()
  if (existing && existing.session_id !== sessionId && isFresh(existing, now))
    return { acquired: false, holder: holderOf(existing) }
  const record = newRecord(sessionId, pid, now, ttlMs)
  args.writeLock(record)
  return { acquired: true, holder: holderOf(record) }
}

/** Restarts the time of the session's own lock; leaves the lock of another session alone. */
export function refresh(
  args: Reads & { now: number; writeLock: (record: LockRecord) => void; ttlMs?: number },
): { refreshed: boolean } {
  const { sessionId, now, ttlMs = LOCK_DEFAULT_TTL_MS } = args
  const existing = args.readLock()
  if (!existing || existing.session_id !== sessionId) return { refreshed: false }
  args.writeLock(newRecord(sessionId, existing.pid, now, ttlMs))
  return { refreshed: true }
}

/** Deletes the session's own lock; leaves the lock of another session alone. */
export function release(args: Reads & { deleteLock: () => void }): void {
  const existing = args.readLock()
  if (existing && existing.session_id === args.sessionId) args.deleteLock()
}

/** Decides for a hook: blocks only while another session holds the lock, never for want of a result. */
export function decide(
  result: AcquireResult | null | undefined,
  sessionId: string,
): { block: boolean; reason?: string } {
  const holder = result?.holder
  if (!result || result.acquired || holder === undefined || holder.session_id === sessionId)
    return { block: false }
  return { block: true, reason: blockReason(holder.session_id, holder.pid) }
}

function isFresh({ session_id, acquired_at, ttl_ms }: LockRecord, now: number): boolean {
  if (typeof session_id !== 'string' || !Number.isFinite(acquired_at)) return false
  const isLimit = typeof ttl_ms === 'number' && ttl_ms < Number.POSITIVE_INFINITY
  const ttlMs = isLimit ? ttl_ms : LOCK_DEFAULT_TTL_MS
  // Two clocks may differ by a little; a lock from beyond its own lifetime is from a clock that was set back.
  return Math.abs(now - acquired_at) <= ttlMs
}

const newRecord = (session_id: string, pid: number, acquired_at: number, ttl_ms: number): LockRecord => {
  return { schema_version: LOCK_SCHEMA_VERSION, session_id, pid, acquired_at, ttl_ms }
}

const holderOf = ({ session_id, pid, acquired_at }: LockRecord): LockHolder => {
  return { session_id, pid, acquired_at }
}
