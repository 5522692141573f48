import { type Liveness, parseIdentity } from '../base/process/liveness.ts'
import { StintError } from '../base/errors/stint-error.ts'
import type { Holder } from './store.ts'

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

/** - `dead`: it writes no more. `silent`: it may write, but has lost the session. `held`: the session is its own. */
export type HolderStanding = 'dead' | 'silent' | 'held'

/** Over plain data: does this holder keep its session? */
export function holderStanding({ beat }: Pick<Holder, 'beat'>, life: Liveness, now: number): HolderStanding {
  if (life === 'dead') return 'dead'
  return life === 'unknown' && now - beat > silenceMs ? 'silent' : 'held'
}

/** For a writer that has lost its session, whatever keeps it. */
export const sessionFenced = (id: string): StintError =>
  new StintError('FENCED', `session ${id} was taken over by another process: nothing more is written`)
