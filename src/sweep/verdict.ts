import type { Liveness } from '../base/process/liveness.ts'
import type { Keep } from '../scratch/owner.ts'

/** The facts about one entry. `gatherFacts` collects them, `decideFate` decides on them. */
export interface EntryFacts {
  kind: 'scratch' | 'owner' | 'output' | 'trash' | 'tracked' | 'session' | 'other'
  /** The file type, from lstat. */
  type: 'directory' | 'symlink' | 'file'
  /** Whether the entry belongs to the sweeping user. */
  sameUser: boolean
  /** Last change of the entry itself, in milliseconds since the epoch. */
  changedAt: number
  /** From the owner record; undefined without a valid one. `createdAt` is in milliseconds since the epoch. */
  owner?: { liveness: Liveness; keep: Keep; createdAt: number }
  /** Set if there is an owner record that cannot be read. */
  unreadable?: boolean
  /** The liveness of each recorded child. */
  children: Liveness[]
  /** When an output expires, in milliseconds since the epoch. */
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
  | 'unfinished-session'
  | 'ended-claims'
  | 'old-points'
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

/** An entry whose owner cannot be proven dead is removed only if it has not changed for this long. */
export const unprovenAgeMs = 24 * 3_600_000

const remove = (reason: RemoveReason): SweepVerdict => ({ remove: true, reason })
const keep = (reason: KeepReason): SweepVerdict => ({ remove: false, reason })

/** Decides whether an entry may be deleted: only if its owner is provably dead, or unproven and a day old. */
export function decideFate(facts: EntryFacts, now: number): SweepVerdict {
  if (!facts.sameUser) return keep('foreign-owner')
  // Every entry of the trash was moved there to be deleted. A link is unlinked, not followed.
  if (facts.kind === 'trash') return remove('trash')
  if (facts.type === 'symlink' && facts.kind !== 'owner') return keep('symlink')
  // Owner records are links that lead nowhere, records of tracked paths are files, the rest are directories.
  const expected = facts.kind === 'owner' ? 'symlink' : facts.kind === 'tracked' ? 'file' : 'directory'
  if (facts.kind === 'other' || facts.type !== expected) return keep('not-stint')
  if (facts.kind === 'session') return remove('removed-session')
  return facts.kind === 'output' ? decideOutput(facts, now) : decideByOwner(facts, now)
}

/** An output without an owner belongs to a run that has ended: only the time to keep it counts. */
function decideOutput(facts: EntryFacts, now: number): SweepVerdict {
  const hasOwner = facts.owner !== undefined || facts.unreadable
  const byOwner = hasOwner ? decideByOwner(facts, now) : undefined
  // The policy to keep a scratch does not prolong the time of its outputs.
  if (byOwner?.remove === false && byOwner.reason !== 'kept-on-purpose') return byOwner
  if (now <= (facts.expiresAt ?? Number.POSITIVE_INFINITY)) return keep('not-expired')
  return byOwner?.reason === 'unknown-and-old' ? byOwner : remove('expired')
}

/** Keeps a removable entry that changed less than `ageMs` ago. Never makes a kept entry removable. */
export const keepIfTooYoung = (
  verdict: SweepVerdict,
  changedAt: number,
  now: number,
  ageMs: number | undefined,
): SweepVerdict =>
  verdict.remove && ageMs !== undefined && now - changedAt < ageMs ? keep('too-young') : verdict

function decideByOwner({ owner, unreadable, children, changedAt }: EntryFacts, now: number): SweepVerdict {
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
