import { StintError } from '../base/errors/stint-error.ts'
import { formatDuration } from '../base/text/duration.ts'
import { visibleJson, visibleText } from '../base/text/escape.ts'
import { ageOf, busyWork, claimLiveness } from './claim-status.ts'
import type { Work } from './claim-work.ts'
import type { Now } from './register.ts'
import type { ClaimsView } from './stored-claims.ts'
import { waitedMsOf, type Waiter, waitersText } from './waiters.ts'
import type { Refused, WorkspaceClaims } from './workspace-claims.ts'

/** The first sentence that a blocked session reads. */
export const blockReason = (sessionId: string, pid: number | null): string =>
  `parallel session lock held by ${sessionId} (pid ${pid ?? '-'}) — wait or close that session first`

/** What keeps a claim busy, in a few words for a person or a model. */
export function workText({ state, call, process, since }: Work, now: Now): string {
  const name = visibleText(call?.name ?? process?.name ?? '', 60)
  const named = name === '' ? '' : ` \`${name.replaceAll('`', "'")}\``
  const what = state === 'background' ? 'background process' : (call?.kind ?? 'call')
  if (state === 'waiting')
    return `its ${what}${named} has waited for its user for ${roughDuration(now.wall - since)}`
  return `its ${what}${named} ${process === undefined ? 'is under way' : `still runs, pid ${process.pid}`}`
}

/** A duration in seconds; less than one is "a moment". */
export const roughDuration = (ms: number): string =>
  ms < 1000 ? 'a moment' : formatDuration(Math.round(ms / 1000) * 1000)

/** The longest pause that a refusal suggests: a holder may release long before its claim expires. */
const maxRetryAfterMs = 3000

/** `LOCK_HELD`, with the holder and its purpose, how long the caller has waited, and how many others wait. */
export function heldError(
  claims: WorkspaceClaims,
  { by, retryAfterMs }: Refused,
  { epoch, observation }: ClaimsView,
  waitedMs: number | undefined,
  waiters: readonly Waiter[],
): StintError {
  const { session_id, pid, acquired_at, purpose } = by
  const age = Math.round(ageOf(by, observation.now))
  const waited = waitedMs === undefined || waitedMs <= 0 ? '' : `waited ${formatDuration(waitedMs)}`
  const notes = [waited, waitersText(waiters.map((each) => waitedMsOf(each, observation)))]
    .filter((note) => note !== '')
    .join('; ')
  const doing = purpose === null ? '' : `, ${visibleJson(purpose)}`
  const work = busyWork(by, observation)
  const busy = work === undefined ? '' : `; ${workText(work, observation.now)}`
  const location = claims.register.locate?.(claims.key, epoch) ?? claims.key
  const liveness = claimLiveness(by, observation)
  return withoutStack(
    () =>
      new StintError(
        'LOCK_HELD',
        `${claims.name} is held by ${session_id}${doing}${busy}${notes && ` (${notes})`}`,
        {
          retryAfterMs: Math.min(maxRetryAfterMs, retryAfterMs),
          detail: `lock_file=${location} holder_pid=${pid ?? '-'} holder_age_ms=${age}`,
          facts: {
            holder: { session_id, pid, acquired_at, purpose, liveness },
            waiters: waiters.length,
          },
        },
      ),
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
