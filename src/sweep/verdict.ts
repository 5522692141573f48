import type { Liveness } from '../base/process/liveness.ts'
import type { Keep } from '../scratch/owner.ts'

/** What the sweep knows of one entry; gathered first, judged after. */
export interface EntryFacts {
  kind: 'scratch' | 'staging' | 'output' | 'trash' | 'tracked' | 'session' | 'other'
  /** What lstat says it is. */
  type: 'directory' | 'symlink' | 'file'
  /** Does it belong to us? */
  ours: boolean
  /** Last change of the entry itself, milliseconds since the epoch. */
  changedAt: number
  /** Undefined if there is no owner record that makes sense. */
  owner?: { liveness: Liveness; keep: Keep; createdAt: number }
  /** Is there an owner record that we may not read? */
  unreadable?: boolean
  /** Of each recorded child. */
  children: Liveness[]
  /** When an output expires. */
  expiresAt?: number
}

export type RemoveReason =
  | 'owner-dead'
  | 'unknown-and-old'
  | 'ownerless-and-old'
  | 'expired'
  | 'trash'
  | 'tracked'
  | 'removed-session'
  | 'superseded'
export type KeepReason =
  | 'owner-alive'
  | 'child-alive'
  | 'owner-unknown'
  | 'ownerless'
  | 'unreadable'
  | 'kept-on-purpose'
  | 'not-expired'
  | 'too-young'
  | 'foreign-owner'
  | 'symlink'
  | 'not-stint'

export type SweepVerdict = { remove: true; reason: RemoveReason } | { remove: false; reason: KeepReason }

/** Where nothing can be proven, only what nobody has touched for this long is removed. */
export const unprovenAgeMs = 24 * 3_600_000

const remove = (reason: RemoveReason): SweepVerdict => ({ remove: true, reason })
const keep = (reason: KeepReason): SweepVerdict => ({ remove: false, reason })

/** May this entry be deleted? Only what is provably dead, or unproven and older than a day. */
export function decideFate(candidate: EntryFacts, now: number): SweepVerdict {
  if (!candidate.ours) return keep('foreign-owner')
  // A link goes as a link, and nothing gets into the trash but to be deleted.
  if (candidate.kind === 'trash') return remove('trash')
  if (candidate.type === 'symlink') return keep('symlink')
  if (candidate.kind === 'other') return keep('not-stint')
  // Only a record of tracked paths is a file.
  if ((candidate.type === 'file') !== (candidate.kind === 'tracked')) return keep('not-stint')
  if (candidate.kind === 'session') return remove('removed-session')
  if (candidate.kind === 'output') {
    if (candidate.owner?.liveness === 'alive') return keep('owner-alive')
    return now > (candidate.expiresAt ?? Number.POSITIVE_INFINITY) ? remove('expired') : keep('not-expired')
  }
  return runVerdict(candidate, now)
}

/** Of what may go, only what has not changed for `ageMs`: narrows a verdict, never widens it. */
export const keepIfTooYoung = (
  given: SweepVerdict,
  changedAt: number,
  now: number,
  ageMs: number | undefined,
): SweepVerdict =>
  given.remove && ageMs !== undefined && now - changedAt < ageMs ? keep('too-young') : given

function runVerdict({ owner, unreadable, children, changedAt }: EntryFacts, now: number): SweepVerdict {
  if (unreadable) return keep('unreadable')
  const old = now - changedAt > unprovenAgeMs
  if (owner === undefined) return old ? remove('ownerless-and-old') : keep('ownerless')
  if (owner.liveness === 'alive') return keep('owner-alive')
  if (children.includes('alive')) return keep('child-alive')
  if (owner.liveness === 'unknown' || children.includes('unknown')) {
    return old ? remove('unknown-and-old') : keep('owner-unknown')
  }
  return owner.keep === 'never' ? remove('owner-dead') : keep('kept-on-purpose')
}
