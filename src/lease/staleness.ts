import type { Identity, Liveness } from '../base/process/liveness.ts'
import type { Claim } from './claim.ts'
import type { Now } from './register.ts'

/** What else a judgement needs: the register's time, and an eye for processes. */
export interface Observation {
  now: Now
  liveness: (process: Identity) => Liveness
  /**
   * Has this claim been watched, unchanged, for longer than it lasts? Only a waiter can know, on its own monotonic clock; it counts where
   * liveness is unknown, since the wall clocks of two hosts need not agree.
   */
  outlasted?: (claim: Claim) => boolean
}

export type ClaimStatus = 'fresh' | 'busy' | 'dead' | 'expired'

/** Does this claim still stand? */
export function claimStatus(claim: Claim, observation: Observation): ClaimStatus {
  const lives = claim.holders.map((holder) => ({ holder, liveness: observation.liveness(holder) }))
  if (!claim.detached && lives.length > 0 && lives.every(({ liveness }) => liveness === 'dead')) return 'dead'
  const busy = lives.some(({ holder, liveness }) => holder.calls.length > 0 && liveness === 'alive')
  // The exact boundary is still fresh.
  if (ageOf(claim, observation.now) > (busy ? claim.busy_ttl_ms : claim.ttl_ms)) return 'expired'
  const unproven = !lives.some(({ liveness }) => liveness === 'alive')
  if (unproven && observation.outlasted?.(claim)) return 'expired'
  return busy ? 'busy' : 'fresh'
}

export const isInForce = (claim: Claim, observation: Observation): boolean => {
  const now = claimStatus(claim, observation)
  return now === 'fresh' || now === 'busy'
}

/** Time since the last refresh: on the monotonic clock within one boot (no jumps, no laptop sleep), else on the wall. */
export function ageOf(claim: Claim, now: Now): number {
  const age = claim.clock === now.clock ? now.mono - claim.mono : now.wall - claim.refreshed_at
  // From the future: a clock was set back. Within one lifetime it may be skew; beyond that nobody waits for it.
  return age < -claim.ttl_ms ? Number.POSITIVE_INFINITY : Math.max(0, age)
}

/** When it would expire if nothing happened, from now. */
export function remainingMs(claim: Claim, observation: Observation): number {
  const busy = claimStatus(claim, observation) === 'busy'
  return Math.max(0, (busy ? claim.busy_ttl_ms : claim.ttl_ms) - ageOf(claim, observation.now)) + 1
}
