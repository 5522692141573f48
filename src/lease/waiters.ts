import { type Identity, parseIdentity } from '../base/process/liveness.ts'
import { formatDuration } from '../base/text/duration.ts'
import { isNumber, isString, parseObject } from '../base/text/fields.ts'
import {
  type Claim,
  type ClaimMode,
  type ClaimOrigin,
  type ClaimsRecord,
  parseOrigin,
  wholeWorkspace,
} from './claim-record.ts'
import { isInForce, type Observation } from './claim-status.ts'
import type { Register, Steps, WaiterEntry, WaiterQueue } from './register.ts'
import { areInConflict } from './rules.ts'

/** A party that waits for a claim. */
export interface Waiter {
  session_id: string
  /** The process that waits. */
  process: Identity
  paths: readonly string[]
  mode: ClaimMode
  /** When it began to wait, in milliseconds since the epoch. */
  since: number
  ancestors?: string[]
  origin?: ClaimOrigin
}

/** A waiter touches its entry this often; one that has not for three times as long counts no more. */
export const touchEveryMs = 5000
const silentAfterMs = 15_000

/** An entry whose process cannot be seen from here is removed when it was not touched for this long. */
const abandonedAfterMs = 24 * 3_600_000

/** For this long a claim that has become free is kept for the first waiter. */
const reservedMs = 1000

/** A longer text may not fit into a link. */
const maxTextBytes = 2000

/** Formats a waiter for a register. Of one that is too long, less is told: it then waits for everything. */
export function formatWaiter(waiter: Waiter): string {
  const { origin: _, ...rest } = waiter
  for (const each of [waiter, rest]) {
    const text = JSON.stringify(each)
    if (Buffer.byteLength(text) <= maxTextBytes) return text
  }
  return JSON.stringify({ ...rest, paths: wholeWorkspace })
}

/** Parses a waiter; undefined if its text is invalid. */
export function parseWaiter(text: string): Waiter | undefined {
  const value = parseObject(text)
  const process = parseIdentity(value?.process)
  if (value === undefined || process === undefined) return undefined
  const { session_id, since, paths, mode, ancestors } = value
  if (!isString(session_id) || !isNumber(since) || !Array.isArray(paths)) return undefined
  const waiter: Waiter = {
    session_id,
    process,
    paths: paths.filter(isString),
    mode: mode === 'shared' ? 'shared' : 'exclusive',
    since,
  }
  if (Array.isArray(ancestors)) waiter.ancestors = ancestors.filter(isString)
  const origin = parseOrigin(value.origin)
  if (origin !== undefined) waiter.origin = origin
  return waiter
}

/** Whether the process of an entry has died; if that cannot be known, an entry untouched for a day counts. */
function isAbandoned({ text, touchedAt }: WaiterEntry, { now, liveness }: Observation): boolean {
  const waiter = parseWaiter(text)
  const of = waiter === undefined ? 'unknown' : liveness(waiter.process)
  return of === 'dead' || (of === 'unknown' && now.wall - touchedAt > abandonedAfterMs)
}

/** Removes what dead waiters have left in a queue. */
export function* removeAbandoned(
  waiters: WaiterQueue,
  key: string,
  observation: Observation,
): Steps<unknown, void> {
  for (const number of yield* waiters.numbers(key))
    yield* removeIfAbandoned(waiters, key, observation, number)
}

/** Removes the entry of a dead waiter; false if the waiter lives. */
export function* removeIfAbandoned(
  waiters: WaiterQueue,
  key: string,
  observation: Observation,
  number: number,
): Steps<unknown, boolean> {
  const entry = yield* waiters.read(key, number)
  if (entry === undefined) return true
  if (!isAbandoned(entry, observation)) return false
  yield* waiters.remove(key, number)
  return true
}

/** The waiter of an entry, if it still waits. One whose process is suspended does not, until it goes on. */
function stillWaiting(entry: WaiterEntry, { now, liveness }: Observation): Waiter | undefined {
  const waiter = parseWaiter(entry.text)
  if (waiter === undefined || Math.abs(now.wall - entry.touchedAt) > silentAfterMs) return undefined
  return liveness(waiter.process) === 'dead' ? undefined : waiter
}

/** The first waiter of a key with one of these numbers that matches; reads no more of them than it must. */
function* findWaiter(
  { waiters }: Register,
  key: string,
  observation: Observation,
  matches: (waiter: Waiter) => boolean,
  numbers?: readonly number[],
): Steps<unknown, Waiter | undefined> {
  if (waiters === undefined) return undefined
  try {
    for (const number of numbers ?? (yield* waiters.numbers(key))) {
      const entry = yield* waiters.read(key, number)
      const waiter = entry && stillWaiting(entry, observation)
      if (waiter !== undefined && matches(waiter)) return waiter
    }
  } catch {
    // A queue only makes the order fair: one that cannot be read must not change an answer.
  }
  return undefined
}

/** All waiters of a key, in order. */
export function* listWaiters(
  register: Register,
  key: string,
  observation: Observation,
): Steps<unknown, Waiter[]> {
  const all: Waiter[] = []
  yield* findWaiter(register, key, observation, (waiter) => all.push(waiter) === 0)
  return all
}

/** A claim that is free, but kept for a waiter for this many milliseconds more. */
export interface Reservation {
  waiter: Waiter
  leftMs: number
}

/**
 * Finds the waiter that a claim is kept for: of those with these numbers, the first that could have it now. A
 * claim is kept for a second after the record was last changed, as a release changes it. `wasStale`: the
 * claim was that of a dead or silent session until now, and this look has found it; the second begins now.
 */
export function* findReservation(
  register: Register,
  key: string,
  wanted: Pick<Claim, 'session_id' | 'paths' | 'mode' | 'ancestors'>,
  { epoch, record, observation }: { epoch: number; record: ClaimsRecord; observation: Observation },
  { wasStale, numbers }: { wasStale: boolean; numbers: readonly number[] },
): Steps<unknown, Reservation | undefined> {
  const writtenAt = wasStale ? undefined : yield* register.writtenAt(key, epoch)
  const ageMs = wasStale ? 0 : Math.abs(observation.now.wall - (writtenAt ?? 0))
  if (ageMs >= reservedMs) return undefined
  const held = record.claims.filter((claim) => isInForce(claim, observation))
  const couldHave = (waiter: Waiter): boolean => held.every((claim) => !areInConflict(claim, waiter))
  const waiter = yield* findWaiter(
    register,
    key,
    observation,
    (each) => areInConflict(each, wanted) && couldHave(each),
    numbers,
  )
  return waiter && { waiter, leftMs: Math.ceil(reservedMs - ageMs) }
}

/** The claim that a waiter is about to make, for the message to a session that must let it go first. */
export const claimOf = (waiter: Waiter, { now }: Observation): Claim => ({
  session_id: waiter.session_id,
  pid: waiter.process.pid,
  acquired_at: Math.round(now.wall),
  ttl_ms: reservedMs,
  busy_ttl_ms: reservedMs,
  refreshed_at: Math.round(now.wall),
  mono: Math.round(now.mono),
  clock: now.clock,
  paths: [...waiter.paths],
  mode: waiter.mode,
  fence: 0,
  first_fence: 0,
  purpose: `next in line, after a wait of ${formatDuration(roundedMs(now.wall - waiter.since))}`,
  narrowed: false,
  detached: false,
  holders: [{ ...waiter.process, calls: [] }],
  ...(waiter.ancestors === undefined ? {} : { ancestors: waiter.ancestors }),
  ...(waiter.origin === undefined ? {} : { origin: waiter.origin }),
})

const roundedMs = (ms: number): number => Math.max(1, Math.round(ms / 1000)) * 1000

/** Tells people how many wait: "2 sessions wait for it, the first for 40s"; empty if none does. */
export function waitersText(waitedMs: readonly number[]): string {
  const [first] = waitedMs
  if (first === undefined) return ''
  const waited = formatDuration(roundedMs(first))
  return waitedMs.length === 1
    ? `1 session has waited for it for ${waited}`
    : `${waitedMs.length} sessions wait for it, the first for ${waited}`
}

/** How long a waiter has waited, in milliseconds. */
export const waitedMsOf = ({ since }: Waiter, { now }: Observation): number =>
  Math.max(0, Math.round(now.wall - since))
