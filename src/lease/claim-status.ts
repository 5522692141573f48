import type { Identity, Liveness } from '../base/process/liveness.ts'
import type { Claim } from './claim-record.ts'
import type { Now } from './register.ts'

/** What a decision needs to know besides the claims: the register's time, and which processes live. */
export interface Observation {
  now: Now
  liveness: (process: Identity) => Liveness
  /**
   * Whether a waiter has seen this claim unchanged for longer than it lasts, on its own monotonic clock. It
   * counts where the holders' liveness is unknown, as the wall clocks of two hosts need not agree.
   */
  outlasted?: (claim: Claim) => boolean
}

export type ClaimStatus = 'fresh' | 'busy' | 'dead' | 'expired'

export function claimStatus(claim: Claim, observation: Observation): ClaimStatus {
  const holders = claim.holders.map((holder) => ({
    isBusy: holder.calls.length > 0,
    liveness: observation.liveness(holder),
  }))
  if (!claim.detached && holders.length > 0 && holders.every(({ liveness }) => liveness === 'dead'))
    return 'dead'
  const isBusy = holders.some((holder) => holder.isBusy && holder.liveness === 'alive')
  // At exactly its time to live a claim is still fresh.
  if (ageOf(claim, observation.now) > (isBusy ? claim.busy_ttl_ms : claim.ttl_ms)) return 'expired'
  const isUnproven = !holders.some(({ liveness }) => liveness === 'alive')
  if (isUnproven && observation.outlasted?.(claim)) return 'expired'
  return isBusy ? 'busy' : 'fresh'
}

/** Whether a claim is fresh or busy. */
export const isInForce = (claim: Claim, observation: Observation): boolean =>
  ['fresh', 'busy'].includes(claimStatus(claim, observation))

/** Milliseconds since the last refresh, on the monotonic clock within one boot, else on the wall clock. */
export function ageOf(claim: Claim, now: Now): number {
  const age = claim.clock === now.clock ? now.mono - claim.mono : now.wall - claim.refreshed_at
  // A refresh in the future: the clock was set back. Up to one time to live that may be skew; beyond it, the
  // claim is old.
  return age < -claim.ttl_ms ? Number.POSITIVE_INFINITY : Math.max(0, age)
}

/** Milliseconds until the claim expires, if it is not refreshed. */
export function remainingMs(claim: Claim, observation: Observation): number {
  const isBusy = claimStatus(claim, observation) === 'busy'
  return Math.max(0, (isBusy ? claim.busy_ttl_ms : claim.ttl_ms) - ageOf(claim, observation.now)) + 1
}

/** Alive if any holder is, dead if all are; unknown if there is no holder. */
export function claimLiveness({ holders }: Claim, { liveness }: Observation): Liveness {
  const all = holders.map(liveness)
  if (all.includes('alive')) return 'alive'
  return all.length > 0 && all.every((each) => each === 'dead') ? 'dead' : 'unknown'
}
