import { StintError } from '../base/errors/stint-error.ts'
import { readCommandLine } from '../base/process/platform.ts'
import { formatDuration } from '../base/text/duration.ts'
import { visibleJson, visibleText } from '../base/text/escape.ts'
import {
  ageOf,
  busyWork,
  claimLiveness,
  maxRetryAfterMs,
  type Observation,
  remainingMs,
} from './claim-status.ts'
import type { Claim, ClaimOrigin } from './claim-record.ts'
import { isDeserted, type Work } from './claim-work.ts'
import { targetKind } from './lease-target.ts'
import type { Now } from './register.ts'
import type { ClaimsView } from './stored-claims.ts'
import { waitedMsOf, type Waiter, waitersText } from './waiters.ts'
import type { Refused } from './rules.ts'
import type { WorkspaceClaims } from './workspace-claims.ts'

/** Whether the process of a claim is the app-server of Codex, in which the sessions of all windows run. */
export const isInSharedServer = ({ policy, holders }: Claim, { liveness }: Observation): boolean =>
  policy?.shared_process === true &&
  holders.some((holder) => liveness(holder) === 'alive' && readCommandLine(holder.pid).includes('app-server'))

/** Whose session it is, in a few words: "Claude Code in pts/3 (tmux %5), ada@box, ~/app: “tidy up”". */
export function originText(origin: ClaimOrigin | undefined, home: string = process.env.HOME ?? ''): string {
  if (origin === undefined) return ''
  const { agent = '', terminal, tmux_pane: pane, user, hostname, directory, prompt } = origin
  const screen = [terminal, pane && (terminal === undefined ? `tmux ${pane}` : `(tmux ${pane})`)]
  const where = screen.filter(Boolean).join(' ')
  const short =
    home.length > 1 && directory?.startsWith(`${home}/`) ? `~${directory.slice(home.length)}` : directory
  const parts = [
    [agent, where].filter(Boolean).join(' in '),
    [user, hostname].filter(Boolean).join('@'),
    short,
  ]
  const text = parts.filter(Boolean).join(', ')
  const all = prompt === undefined ? text : `${text}${text === '' ? '' : ': '}“${prompt}”`
  return visibleText(all, 300)
}

/** What keeps a claim busy, in a few words for a person or a model. */
export function workText({ state, call, process, since }: Work, now: Now): string {
  const name = visibleText(call?.name ?? process?.name ?? '', 60)
  const named = name === '' ? '' : ` \`${name.replaceAll('`', "'")}\``
  const what = state === 'background' ? 'background process' : (call?.kind ?? 'call')
  if (state === 'waiting')
    return `its ${what}${named} has waited for its user for ${roughDuration(now.wall - since)}`
  return `its ${what}${named} ${process === undefined ? 'is under way' : `still runs, pid ${process.pid}`}`
}

/**
 * What a claim's session does now, in a few words that go on a sentence; empty if nothing is known. `left` is
 * the process that keeps the claim of a session whose agent has died or whose turn has ended.
 */
export function activityText(
  claim: Claim,
  observation: Observation,
): { text: string; left?: Work['process'] } {
  const work = busyWork(claim, observation)
  if (work === undefined) return { text: '' }
  const text = `; ${workText(work, observation.now)}`
  if (work.state !== 'background') return { text }
  if (isDeserted(claim, observation)) return { text: `; its agent has died${text}`, left: work.process }
  return claim.turn_ended ? { text: `; its turn has ended${text}`, left: work.process } : { text }
}

/** A duration in seconds; less than one is "a moment". */
export const roughDuration = (ms: number): string =>
  ms < 1000 ? 'a moment' : formatDuration(Math.round(ms / 1000) * 1000)

/** `LOCK_HELD`, with the holder and its purpose, how long the caller has waited, and how many others wait. */
export function heldError(
  claims: WorkspaceClaims,
  { by, retryAfterMs }: Refused,
  { epoch, observation }: ClaimsView,
  waitedMs: number | undefined,
  waiters: readonly Waiter[],
): StintError {
  const { session_id, pid, acquired_at, purpose, origin } = by
  const age = Math.round(ageOf(by, observation.now))
  const waited = waitedMs === undefined || waitedMs <= 0 ? '' : `waited ${formatDuration(waitedMs)}`
  const notes = [waited, waitersText(waiters.map((each) => waitedMsOf(each, observation)))]
    .filter((note) => note !== '')
    .join('; ')
  const who = originText(origin)
  const { text: busy, left } = activityText(by, observation)
  const isIdle = purpose === null || left !== undefined
  const doing = `${who && `, ${who}`}${isIdle ? '' : `, ${visibleJson(purpose)}`}`
  const location = claims.register.locate?.(claims.key, epoch) ?? claims.key
  const liveness = claimLiveness(by, observation)
  return withoutStack(
    () =>
      new StintError(
        'LOCK_HELD',
        `${visibleText(claims.name)} is held by ${visibleText(session_id)}${doing}${busy}${notes && ` (${notes})`}`,
        {
          hint: `${standingText(by, observation)} ${adviceFor(claims, isInSharedServer(by, observation))}`,
          retryAfterMs: Math.min(maxRetryAfterMs, retryAfterMs),
          detail: `lock_file=${location} holder_pid=${pid ?? '-'} holder_age_ms=${age}`,
          facts: {
            holder: {
              session_id,
              pid,
              acquired_at,
              expires_in_ms: Math.round(remainingMs(by, observation)),
              paths: by.paths,
              purpose,
              liveness,
              origin: origin ?? null,
            },
            waiters: waiters.length,
          },
        },
      ),
  )
}

/** What is held, since when, whether its holder lives, and until when. */
function standingText(by: Claim, observation: Observation): string {
  const what = by.paths.includes('**') ? 'all of it' : visibleText(by.paths.join(' '), 200)
  const shared = by.mode === 'shared' ? ', shared' : ''
  const since = roughDuration(Math.max(0, observation.now.wall - by.acquired_at))
  const life = { alive: 'is alive', dead: 'is dead', unknown: 'cannot be seen from here' }
  const process =
    by.pid === null ? 'without a process' : `by pid ${by.pid}, which ${life[claimLiveness(by, observation)]}`
  const rest = roughDuration(remainingMs(by, observation))
  return `Held: ${what}${shared}, for ${since}, ${process}; it ends in ${rest} unless it is refreshed.`
}

/** A resource has no paths, and no other place to work in. The end of a shared server ends all sessions. */
function adviceFor(target: WorkspaceClaims, isInServer: boolean): string {
  const ways = ['Wait for the holder (--wait)']
  if (targetKind(target) !== 'resource') ways.push('claim other paths (--path)', 'work in another workspace')
  if (isInServer)
    return `${ways.join(', or ')}. Do not end its pid: it is the app-server of all Codex windows.`
  return `${ways.join(', ')}, or end that session.`
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
