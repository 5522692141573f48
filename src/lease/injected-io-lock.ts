/**
 * A lock of one record and one holder, as pure functions with injected I/O. They decide by the rules of
 * leases, but read and write in two steps: two callers that both read before either writes both get the lock.
 * Use `acquireLease` wherever you can.
 *
 * @module stint/lock
 */
import { type ClaimsRecord, defaultTtlMs, noClaims, parseClaimsRecord } from './claim-record.ts'
import type { Observation } from './claim-status.ts'
import { blockReason } from './lock-held-error.ts'
import { decideAcquire, decideRefresh, decideRelease } from './rules.ts'

export { computeWorkspaceHash } from './lease-target.ts'
export { blockReason } from './lock-held-error.ts'

/** The version of the lock record. */
export const LOCK_SCHEMA_VERSION = 1
/** How long a lock lasts without a refresh: 5 minutes, in milliseconds. */
export const LOCK_DEFAULT_TTL_MS = defaultTtlMs

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

/** Takes a lock that is free, stale or the session's own; refuses a fresh lock of another session. */
export function acquire(
  args: Reads & { pid: number; now: number; writeLock: (record: LockRecord) => void; ttlMs?: number },
): AcquireResult {
  const { sessionId, pid, now, ttlMs = LOCK_DEFAULT_TTL_MS } = args
  const existing = args.readLock()
  const request = { sessionId, holder: null, paths: ['**'], mode: 'exclusive' as const, ttlMs }
  const { answer } = decideAcquire(toClaims(existing), request, observationAt(now), 1)
  if (!answer.granted) return { acquired: false, holder: existing ? holderOf(existing) : undefined }
  const schema_version = LOCK_SCHEMA_VERSION
  const record = { schema_version, session_id: sessionId, pid, acquired_at: now, ttl_ms: ttlMs }
  args.writeLock(record)
  return { acquired: true, holder: holderOf(record) }
}

/** Restarts the time of the session's own lock; leaves the lock of another session alone. */
export function refresh(
  args: Reads & { now: number; writeLock: (record: LockRecord) => void; ttlMs?: number },
): { refreshed: boolean } {
  const existing = args.readLock()
  const { answer } = decideRefresh(toClaims(existing), { sessionId: args.sessionId }, observationAt(args.now))
  if (answer.claim === undefined || !existing) return { refreshed: false }
  const { ttlMs: ttl_ms = LOCK_DEFAULT_TTL_MS, now: acquired_at } = args
  args.writeLock({ ...existing, schema_version: LOCK_SCHEMA_VERSION, acquired_at, ttl_ms })
  return { refreshed: true }
}

/** Deletes the session's own lock; leaves the lock of another session alone. */
export function release(args: Reads & { deleteLock: () => void }): void {
  const { answer } = decideRelease(toClaims(args.readLock()), { sessionId: args.sessionId })
  if (answer.released) args.deleteLock()
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

/** A lock record as the claims of a workspace; without claims if it is invalid. */
function toClaims(record: LockRecord | null | undefined): ClaimsRecord {
  const claims = [{ ...record, pid: null, detached: true, paths: ['**'] }]
  return parseClaimsRecord(JSON.stringify({ ...noClaims(''), claims }), '') ?? noClaims('')
}

const holderOf = ({ session_id, pid, acquired_at }: LockRecord): LockHolder => {
  return { session_id, pid, acquired_at }
}

/** Lock records contain a wall time only, and no process whose liveness could be checked. */
const observationAt = (now: number): Observation => ({
  now: { wall: now, mono: 0, clock: 'wall' },
  liveness: () => 'unknown',
})
