/**
 * A lock of one record and one holder: pure functions with the I/O injected. They decide by the same rules as
 * leases do. But reading and writing are two steps, so two callers that read before either writes both get the lock.
 * Use `acquireLease` wherever you can.
 *
 * @module stint/lock
 */
import { type ClaimsRecord, defaultTtlMs, noClaims } from './claim.ts'
import { parseClaims } from './claims-text.ts'
import {
  decideAcquire as acquireClaim,
  decideRefresh as refreshClaim,
  decideRelease as releaseClaim,
} from './rules.ts'
import type { Observation } from './staleness.ts'

export { computeWorkspaceHash } from './workspace.ts'

/** The version of the lock record. */
export const LOCK_SCHEMA_VERSION = 1
/** How long a lock lasts without a refresh: 5 minutes. */
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

/** Takes a free, stale or own lock; refuses a fresh one of another session. */
export function acquire(
  args: Reads & { pid: number; now: number; writeLock: (record: LockRecord) => void; ttlMs?: number },
): AcquireResult {
  const { sessionId, pid, now, ttlMs = LOCK_DEFAULT_TTL_MS } = args
  const existing = args.readLock()
  const request = { sessionId, holder: null, paths: ['**'], mode: 'exclusive' as const, ttlMs }
  const { answer } = acquireClaim(claimsOf(existing), request, witnessAt(now), 1)
  if (!answer.granted) return { acquired: false, holder: holderOf(existing) }
  const record = {
    schema_version: LOCK_SCHEMA_VERSION,
    session_id: sessionId,
    pid,
    acquired_at: now,
    ttl_ms: ttlMs,
  }
  args.writeLock(record)
  return { acquired: true, holder: { session_id: sessionId, pid, acquired_at: now } }
}

/** Makes our lock last its time again; another's is left alone. */
export function refresh(
  args: Reads & { now: number; writeLock: (record: LockRecord) => void; ttlMs?: number },
): { refreshed: boolean } {
  const existing = args.readLock()
  const { answer } = refreshClaim(claimsOf(existing), { sessionId: args.sessionId }, witnessAt(args.now))
  if (answer.claim === undefined || !existing) return { refreshed: false }
  const { ttlMs: ttl_ms = LOCK_DEFAULT_TTL_MS, now: acquired_at } = args
  args.writeLock({ ...existing, schema_version: LOCK_SCHEMA_VERSION, acquired_at, ttl_ms })
  return { refreshed: true }
}

/** Deletes our lock; another's is left alone. */
export function release(args: Reads & { deleteLock: () => void }): void {
  if (releaseClaim(claimsOf(args.readLock()), { sessionId: args.sessionId }).answer.released)
    args.deleteLock()
}

/** What a hook makes of it: blocks only what another session holds, never because something of ours is missing. */
export function decide(
  result: AcquireResult | null | undefined,
  sessionId: string,
): { block: boolean; reason?: string } {
  const holder = result?.holder
  if (!result || result.acquired || holder === undefined || holder.session_id === sessionId)
    return { block: false }
  return { block: true, reason: blockReason(holder.session_id, holder.pid) }
}

/** What a session that is blocked reads first. */
export const blockReason = (sessionId: string, pid: number | null): string =>
  `parallel session lock held by ${sessionId} (pid ${pid ?? '-'}) — wait or close that session first`

/** A lock record as the claims of a workspace: none if it makes no sense. */
function claimsOf(record: LockRecord | null | undefined): ClaimsRecord {
  const claims = [{ ...record, pid: null, detached: true, paths: ['**'] }]
  return parseClaims(JSON.stringify({ ...noClaims(''), claims }), '') ?? noClaims('')
}

const holderOf = (record: LockRecord | null | undefined): LockHolder | undefined =>
  record ? { session_id: record.session_id, pid: record.pid, acquired_at: record.acquired_at } : undefined

/** Its records know the wall clock and no process. */
const witnessAt = (now: number): Observation => ({
  now: { wall: now, mono: 0, clock: 'wall' },
  liveness: () => 'unknown',
})
