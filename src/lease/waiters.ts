import { type Identity, ownIdentity, parseIdentity } from '../base/process/liveness.ts'
import { formatDuration } from '../base/text/duration.ts'
import { isNumber, isRecord, isString, parseObject } from '../base/text/fields.ts'
import { type ClaimMode, type ClaimOrigin, parseOrigin } from './claim.ts'
import type { Observation } from './force.ts'
import type { Now, WaiterEntries } from './register.ts'

// Waiters are told apart from claims: people see them, and a session that has just released lets them go
// first once. Nothing else depends on them.

/** A party that waits for a claim. */
export interface Waiter {
  session_id: string
  /** The process that waits. */
  process: Identity
  paths: readonly string[]
  mode: ClaimMode
  /** When it began to wait, in milliseconds since the epoch. */
  since: number
  /** When its wait ends at the latest: a waiter that cannot be seen from here counts until then. */
  until: number
  origin?: ClaimOrigin
}

/** An entry of a wait without an end counts for so long where its process cannot be seen. */
const maxWaitMs = 24 * 3_600_000

export const makeWaiter = (
  waiter: Pick<Waiter, 'session_id' | 'paths' | 'mode' | 'origin'>,
  waitMs: number,
  now: Now,
): Waiter => ({
  ...waiter,
  process: ownIdentity(),
  since: Math.round(now.wall),
  until: Math.round(now.wall + Math.min(waitMs, maxWaitMs)),
})

function parseWaiter(text: string): Waiter | undefined {
  const value = parseObject(text)
  const process = parseIdentity(value?.process)
  if (!isRecord(value) || process === undefined) return undefined
  const { session_id, since, until, paths, mode } = value
  if (!isString(session_id) || !isNumber(since) || !isNumber(until) || !Array.isArray(paths)) return undefined
  const waiter: Waiter = {
    session_id,
    process,
    paths: paths.filter(isString),
    mode: mode === 'shared' ? 'shared' : 'exclusive',
    since,
    until,
  }
  const origin = parseOrigin(value.origin)
  if (origin !== undefined) waiter.origin = origin
  return waiter
}

/** Whether a waiter still waits. */
function isWaiting({ process, until }: Waiter, { now, liveness }: Pick<Observation, 'now' | 'liveness'>) {
  const life = liveness(process)
  return life === 'alive' || (life === 'unknown' && now.wall <= until)
}

/** The waiters of a key, the one that has waited longest first. Removes the entries of dead ones. */
export async function listWaiters(
  entries: WaiterEntries,
  key: string,
  observation: Pick<Observation, 'now' | 'liveness'>,
): Promise<Waiter[]> {
  const waiters: Waiter[] = []
  for (const { id, text } of await entries.list(key)) {
    const waiter = parseWaiter(text)
    if (waiter !== undefined && isWaiting(waiter, observation)) waiters.push(waiter)
    else await entries.remove(key, id)
  }
  return waiters.sort((a, b) => a.since - b.since)
}

/** Tells people how many wait: "2 sessions wait for it, the first for 40s"; empty if none does. */
export function waitersText(waiters: readonly Waiter[], now: Now): string {
  const [first] = waiters
  if (first === undefined) return ''
  const waited = formatDuration(Math.max(1, Math.round((now.wall - first.since) / 1000)) * 1000)
  return waiters.length === 1
    ? `1 session has waited for it for ${waited}`
    : `${waiters.length} sessions wait for it, the first for ${waited}`
}
