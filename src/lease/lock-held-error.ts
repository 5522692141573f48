import { formatDuration } from '../base/text/duration.ts'
import type { Liveness } from '../base/process/liveness.ts'
import { StintError } from '../base/errors/stint-error.ts'
import type { Claim } from './claim.ts'
import { ageOf, type Observation } from './staleness.ts'
import type { ClaimsView } from './stored-claims.ts'
import type { Refused, WorkspaceClaims } from './workspace-claims.ts'

/** Asking again sooner than this is no use; a holder may let go long before its claim runs out. */
const retryAtMostMs = 3000

/** `LOCK_HELD`: who holds it, since when, doing what. */
export function heldError(
  claims: WorkspaceClaims,
  { by, retryAfterMs }: Refused,
  { epoch, observation }: ClaimsView,
  waitedMs: number,
): StintError {
  const age = Math.round(ageOf(by, observation.now))
  const waited = waitedMs > 0 ? ` (waited ${formatDuration(waitedMs)})` : ''
  const purpose = by.purpose === null ? '' : `, ${JSON.stringify(by.purpose)}`
  return withoutStack(
    () =>
      new StintError('LOCK_HELD', `${claims.name} is held by ${by.session_id}${purpose}${waited}`, {
        retryAfterMs: Math.min(retryAtMostMs, retryAfterMs),
        detail: `lock_file=${claims.register.locate?.(claims.key, epoch) ?? claims.key} holder_pid=${by.pid ?? '-'} holder_age_ms=${age}`,
        facts: { holder: describeClaimHolder(by, observation) },
      }),
  )
}

/** Who waits is refused many times: where in our code is of no interest, and costs more than all the rest. */
function withoutStack(make: () => StintError): StintError {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return make()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

export interface HolderDescription {
  session_id: string
  pid: number | null
  acquired_at: number
  purpose: string | null
  liveness: Liveness
}

export const describeClaimHolder = (claim: Claim, observation: Observation): HolderDescription => ({
  session_id: claim.session_id,
  pid: claim.pid,
  acquired_at: claim.acquired_at,
  purpose: claim.purpose,
  liveness: claimLiveness(claim, observation),
})

/** Alive if any holder is; dead only if all are; without a holder nobody can say. */
export function claimLiveness({ holders }: Claim, { liveness }: Observation): Liveness {
  const all = holders.map(liveness)
  if (all.includes('alive')) return 'alive'
  return all.length > 0 && all.every((each) => each === 'dead') ? 'dead' : 'unknown'
}
