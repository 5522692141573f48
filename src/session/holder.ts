import { hostname } from 'node:os'
import { StintError } from '../base/errors/stint-error.ts'
import { type Identity, type Liveness, liveness, parseIdentity } from '../base/process/liveness.ts'
import { thisMachine } from '../base/process/platform.ts'
import { formatDuration } from '../base/text/duration.ts'
import type { Holder, SessionState } from './store.ts'

/** A holder from a file somebody may have damaged, or undefined. */
export function parseHolder(value: unknown, epoch: number): Holder | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { process, since, beat, kind, purpose } = value as Record<string, unknown>
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

/** One that a date can be made of. */
const isTime = (value: unknown): value is number =>
  typeof value === 'number' && !Number.isNaN(new Date(value).getTime())

/** A holder whose life cannot be seen says every 30 s that it lives. It has lost the session when it was silent for so long. */
export const silenceMs = 5 * 60_000

/**
 * Whether a holder keeps its session.
 *
 * - `dead`: its process has ended, and writes nothing more.
 * - `silent`: its process cannot be seen from here and has missed its heartbeats. It has lost the session but may still
 *   write, so the next holder must fence it off.
 * - `held`: the session is its own.
 */
export type HolderStanding = 'dead' | 'silent' | 'held'

/** Whether a session can be taken. `never`: it has had no holder. `released`: its last holder has closed it. */
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

/** `SESSION_LOCKED`, naming the holder. `host` is the machine it runs on, if it may be another one than this. */
export function sessionLocked(
  id: string,
  holder: (Holder & { host?: string }) | undefined,
  now = Date.now(),
): StintError {
  if (holder === undefined) return new StintError('SESSION_LOCKED', `session ${id} is in use`)
  const { process: owner, host, purpose } = holder
  const since = new Date(holder.since).toISOString()
  const age = formatDuration(Math.max(0, Math.round(now - holder.since)))
  const where = host === undefined ? '' : ` on ${host}`
  const doing = purpose === undefined ? '' : ` (${purpose})`
  return new StintError(
    'SESSION_LOCKED',
    `session ${id} is held by pid ${owner.pid}${where}${doing} for ${age}`,
    {
      detail: `session=${id} pid=${owner.pid}${host === undefined ? '' : ` host=${host}`} since=${since}`,
      facts: { holder: { pid: owner.pid, host: host ?? localHostName(owner), since, purpose } },
    },
  )
}

/** The name of this machine, if the process runs on it: an identity does not contain the names of machines. */
function localHostName({ host, pidns }: Identity): string | undefined {
  const here = thisMachine()
  return host === here.host && pidns === here.pidns ? hostname() : undefined
}

/** Over plain data: does this holder keep its session? */
export function holderStanding({ beat }: Pick<Holder, 'beat'>, life: Liveness, now: number): HolderStanding {
  if (life === 'dead') return 'dead'
  return life === 'unknown' && now - beat > silenceMs ? 'silent' : 'held'
}

/** For a writer that has lost its session, whatever keeps it. */
export const sessionFenced = (id: string): StintError =>
  new StintError('FENCED', `session ${id} was taken over by another process: nothing more is written`)
