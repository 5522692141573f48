import { visibleText } from '../base/text/escape.ts'
import type { Claim } from './claim.ts'
import { areInConflict } from './rules.ts'
import type { ClaimsView } from './workspace-claims.ts'

/**
 * Why a lease was lost: the `cause` of `LOCK_LOST`.
 * - `broken`: `by` a user, who may have given a `reason`.
 * - `taken-over`: another session (`by`) was granted it when it had expired.
 * - `released`: by another process of the same session.
 * - `removed`: the register has no record any more.
 * - `expired`: it was not refreshed in time: the process was suspended, or the register could not be reached.
 */
export interface LeaseLoss {
  kind: 'broken' | 'taken-over' | 'released' | 'removed' | 'expired'
  by?: string
  reason?: string
  /** The last failure of a refresh, if there was one. */
  error?: unknown
}

/**
 * Finds out from the claims as they are now why this one is not among them any more. `lastEpoch`: that of the
 * register when it was.
 */
export function lossIn(
  { epoch, record, observation }: ClaimsView,
  claim: Claim,
  lastEpoch: number,
): LeaseLoss {
  const broken = record.breaks.find(
    ({ session_id, fence }) => session_id === claim.session_id && fence >= claim.first_fence,
  )
  if (broken !== undefined) return { kind: 'broken', by: broken.by, reason: broken.reason ?? undefined }
  if (epoch < lastEpoch) return { kind: 'removed' }
  const other = record.claims.find((each) => areInConflict(each, claim))
  if (other !== undefined && other.session_id !== claim.session_id)
    return { kind: 'taken-over', by: other.session_id }
  const isStill = record.claims.some(({ session_id }) => session_id === claim.session_id)
  return { kind: isStill || observation.now.wall > claim.until_wall ? 'expired' : 'released' }
}

/** The end of a sentence about a lost lease. */
export function lossText({ kind, by = '', reason, error }: LeaseLoss): string {
  const why = reason === undefined ? '' : ` (${visibleText(reason)})`
  const failed = error instanceof Error ? `: ${error.message}` : ''
  return {
    broken: `it was broken by ${visibleText(by)}${why}`,
    'taken-over': `session ${visibleText(by)} has taken it over`,
    released: 'another process of the session has released it',
    removed: 'its record was removed',
    expired: `it was not refreshed in time${failed}`,
  }[kind]
}
