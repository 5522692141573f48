import { parseIdentity } from '../primitives/liveness.ts'
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
