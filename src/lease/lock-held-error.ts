import { StintError } from '../base/errors/stint-error.ts'
import { formatDuration } from '../base/text/duration.ts'
import { visibleJson } from '../base/text/escape.ts'
import { ageOf, claimLiveness } from './claim-status.ts'
import type { ClaimsView } from './stored-claims.ts'
import type { Refused, WorkspaceClaims } from './workspace-claims.ts'

/** The first sentence that a blocked session reads. */
export const blockReason = (sessionId: string, pid: number | null): string =>
  `parallel session lock held by ${sessionId} (pid ${pid ?? '-'}) — wait or close that session first`

/** The longest pause that a refusal suggests: a holder may release long before its claim expires. */
const maxRetryAfterMs = 3000

/** `LOCK_HELD`, with the holder, its age and its purpose. `waitedMs`: how long the caller has waited. */
export function heldError(
  claims: WorkspaceClaims,
  { by, retryAfterMs }: Refused,
  { epoch, observation }: ClaimsView,
  waitedMs: number,
): StintError {
  const { session_id, pid, acquired_at, purpose } = by
  const age = Math.round(ageOf(by, observation.now))
  const waited = waitedMs > 0 ? ` (waited ${formatDuration(waitedMs)})` : ''
  const doing = purpose === null ? '' : `, ${visibleJson(purpose)}`
  const location = claims.register.locate?.(claims.key, epoch) ?? claims.key
  const liveness = claimLiveness(by, observation)
  return withoutStack(
    () =>
      new StintError('LOCK_HELD', `${claims.name} is held by ${session_id}${doing}${waited}`, {
        retryAfterMs: Math.min(maxRetryAfterMs, retryAfterMs),
        detail: `lock_file=${location} holder_pid=${pid ?? '-'} holder_age_ms=${age}`,
        facts: { holder: { session_id, pid, acquired_at, purpose, liveness } },
      }),
  )
}

/** Saves the stack trace: a caller that retries is refused often, and a trace costs more than a try. */
function withoutStack(create: () => StintError): StintError {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return create()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}
