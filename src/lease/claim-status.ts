import type { Identity, Liveness } from '../base/process/liveness.ts'
import type { ProcessTable } from '../base/process/process-table.ts'
import type { Claim } from './claim-record.ts'
import { isDeserted, type Work, workOf } from './claim-work.ts'
import type { Now } from './register.ts'

/** What a decision needs to know besides the claims: the register's time, and which processes live. */
export interface Observation {
  now: Now
  liveness: (process: Identity) => Liveness
  /** All processes, read at the first call; absent where they say nothing about the holders. */
  processes?: () => ProcessTable
  /** The directory that is claimed; absent for anything else. */
  workspace?: string
  /**
   * Whether a waiter has seen this claim unchanged for longer than it lasts, on its own monotonic clock. It
   * counts where the holders' liveness is unknown, as the wall clocks of two hosts need not agree.
   */
  outlasted?: (claim: Claim) => boolean
}

export type ClaimStatus = 'fresh' | 'busy' | 'dead' | 'expired'

export const claimStatus = (claim: Claim, observation: Observation): ClaimStatus =>
  busyWork(claim, observation) === undefined ? statusByTime(claim, observation) : 'busy'

/** Whether a claim is fresh or busy. Reads the processes of the machine only if time does not decide. */
export const isInForce = (claim: Claim, observation: Observation): boolean =>
  statusByTime(claim, observation) === 'fresh' || busyWork(claim, observation) !== undefined

/** The work that keeps a claim busy now, within its limits. */
export function busyWork(
  claim: Claim,
  observation: Observation,
): (Required<Pick<Work, 'endsInMs'>> & Work) | undefined {
  const restMs = claim.busy_ttl_ms - ageOf(claim, observation.now)
  const work = restMs < 0 ? undefined : workOf(claim, observation)
  return work && { ...work, endsInMs: Math.min(restMs, work.endsInMs ?? restMs) }
}

/** The status of a claim without work. */
function statusByTime(claim: Claim, observation: Observation): Exclude<ClaimStatus, 'busy'> {
  if (isDeserted(claim, observation)) return 'dead'
  // At exactly its time to live a claim is still fresh.
  if (claim.turn_ended || ageOf(claim, observation.now) > claim.ttl_ms) return 'expired'
  const isUnproven = claimLiveness(claim, observation) !== 'alive'
  return isUnproven && observation.outlasted?.(claim) ? 'expired' : 'fresh'
}

/** Milliseconds since the last refresh, on the monotonic clock within one boot, else on the wall clock. */
export function ageOf(claim: Claim, now: Now): number {
  const age = claim.clock === now.clock ? now.mono - claim.mono : now.wall - claim.refreshed_at
  // A refresh in the future: the clock was set back. Up to one time to live that may be skew; beyond it, the
  // claim is old.
  return age < -claim.ttl_ms ? Number.POSITIVE_INFINITY : Math.max(0, age)
}

/**
 * Milliseconds until the claim expires, if it is not refreshed and its work does not end before. If time
 * alone keeps it for `enoughMs`, its work is not looked for, and may keep it for longer.
 */
export function remainingMs(claim: Claim, observation: Observation, enoughMs = Infinity): number {
  const restMs =
    statusByTime(claim, observation) === 'fresh' ? claim.ttl_ms - ageOf(claim, observation.now) : 0
  const busyMs = restMs >= enoughMs ? 0 : (busyWork(claim, observation)?.endsInMs ?? 0)
  return Math.max(restMs, busyMs) + 1
}

/** No caller pauses longer before it asks again: a holder may release long before its claim expires. */
export const maxRetryAfterMs = 3000

/** Alive if any holder is, dead if all are; unknown if there is no holder. */
export function claimLiveness({ holders }: Claim, { liveness }: Observation): Liveness {
  const all = holders.map(liveness)
  if (all.includes('alive')) return 'alive'
  return all.length > 0 && all.every((each) => each === 'dead') ? 'dead' : 'unknown'
}
