import { type Liveness, liveness, ownIdentity, parseIdentity } from '../base/process/liveness.ts'
import { isRecord } from '../base/text/fields.ts'
import type { SessionHold } from './medium.ts'
import type { Holder, SessionState } from './store.ts'

/** This process as the holder of a session. `epoch` must be higher than that of every holder before it. */
export function newHolder({ kind, purpose }: SessionHold, epoch: number, now = Date.now()): Holder {
  return { process: ownIdentity(), since: now, beat: now, kind, purpose, epoch }
}

/** A holder read from stored JSON, which may be damaged; undefined if it is invalid. */
export function parseHolder(value: unknown, epoch: number): Holder | undefined {
  if (!isRecord(value)) return undefined
  const { process, since, beat, kind, purpose } = value
  const identity = parseIdentity(process)
  if (identity === undefined || !isTime(since) || !isTime(beat)) return undefined
  return {
    process: identity,
    since,
    beat,
    kind: kind === 'visitor' ? 'visitor' : 'writer',
    purpose: typeof purpose === 'string' ? purpose : undefined,
    epoch,
  }
}

/** Is it a number that a date can be made of? */
const isTime = (value: unknown): value is number =>
  typeof value === 'number' && !Number.isNaN(new Date(value).getTime())

/** How often a holder records that it is alive, in milliseconds. */
export const beatMs = 30_000
/** A holder whose process cannot be seen loses the session after this long without a heartbeat. */
export const silenceMs = 5 * 60_000

/**
 * Whether a holder keeps its session.
 *
 * - `dead`: it writes nothing more: its process has ended, or has released the session without closing its
 *   logs.
 * - `silent`: its process cannot be seen from here and has missed its heartbeats. It has lost the session but
 *   may still write, so the next holder must fence it off.
 * - `held`: the session is its own.
 */
type HolderStanding = 'dead' | 'silent' | 'held'

/** Whether a session can be taken. `never`: it had no holder yet. `released`: its last holder closed it. */
export type LockStanding = 'never' | 'released' | HolderStanding

/** The state that a list shows. `damaged`: damage was found in the session earlier. */
export function sessionState(
  standing: LockStanding,
  holder: Holder | undefined,
  damaged: boolean,
): SessionState {
  if (standing === 'held')
    return holder !== undefined && liveness(holder.process) === 'unknown' ? 'locked' : 'active'
  if (damaged) return 'damaged'
  return standing === 'dead' || standing === 'silent' ? 'crashed' : 'closed'
}

/** Judges whether a holder keeps its session, from the liveness of its process and its last heartbeat. */
export function holderStanding({ beat }: Pick<Holder, 'beat'>, life: Liveness, now: number): HolderStanding {
  if (life === 'dead') return 'dead'
  return life === 'unknown' && now - beat > silenceMs ? 'silent' : 'held'
}
