import { StintError } from '../base/errors/stint-error.ts'
import { readCommandLine } from '../base/process/platform.ts'
import { formatDuration } from '../base/text/duration.ts'
import { visibleJson, visibleText } from '../base/text/escape.ts'
import type { Claim, ClaimOrigin } from './claim.ts'
import { claimLiveness, type Force, forceOf, type Observation } from './force.ts'
import type { Refused } from './rules.ts'
import { type Waiter, waitersText } from './waiters.ts'
import type { ClaimsView, WorkspaceClaims } from './workspace-claims.ts'
import { targetKind } from './workspace.ts'

/** Whether the process of a claim is the app-server of Codex, in which the sessions of all windows run. */
export const isInSharedServer = ({ origin, holders }: Claim, { liveness }: Observation): boolean =>
  origin?.shared_process === true &&
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

/** What keeps a claim in force besides its time, in a few words that go on a sentence; empty if nothing does. */
export function forceText(claim: Claim, { process, isLeftover }: Force, observation: Observation): string {
  if (process === undefined) return ''
  const running = `\`${visibleText(process.command, 60).replaceAll('`', "'")}\` still runs, pid ${process.pid}`
  if (!isLeftover) return `; its ${running}`
  const isDead = claimLiveness(claim, observation) === 'dead'
  return `; ${isDead ? 'its agent has died' : 'its turn has ended'}, but ${running}`
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
  const { session_id, holders, acquired_at, paths, purpose = null, origin = null } = by
  const force = forceOf(by, observation) ?? { leftMs: 0, isLeftover: false }
  const expires_in_ms = Math.round(force.leftMs)
  const pid = holders[0]?.pid ?? null
  const liveness = claimLiveness(by, observation)
  const holder = { session_id, pid, acquired_at, expires_in_ms, paths, purpose, liveness, origin }
  const location = claims.store.locate(claims.key, epoch)
  const waited = waitedMs === undefined || waitedMs <= 0 ? '' : `waited ${formatDuration(waitedMs)}`
  const notes = [waited, waitersText(waiters, observation.now)].filter(Boolean).join('; ')
  const message = `${visibleText(claims.name)} is held by ${holderText(by, force, observation)}${notes && ` (${notes})`}`
  return withoutStack(
    () =>
      new StintError('LOCK_HELD', message, {
        hint: `${standingText(by, force, observation)} ${adviceFor(claims, isInSharedServer(by, observation))}`,
        retryAfterMs,
        detail: `lock_file=${location} holder_pid=${pid ?? '-'}`,
        facts: { holder, waiters: waiters.length },
      }),
  )
}

/** Which session it is, whose, and what it does. */
function holderText(by: Claim, force: Force, observation: Observation): string {
  const origin = originText(by.origin)
  const doing = by.purpose === undefined || force.isLeftover ? '' : `, ${visibleJson(by.purpose)}`
  return `${visibleText(by.session_id)}${origin && `, ${origin}`}${doing}${forceText(by, force, observation)}`
}

/** What is held, since when, whether its holder lives, and until when. */
function standingText(by: Claim, { leftMs }: Force, observation: Observation): string {
  const what = by.paths.includes('**') ? 'the whole workspace' : visibleText(by.paths.join(' '), 200)
  const shared = by.mode === 'shared' ? ', shared' : ''
  const since = roughDuration(Math.max(0, observation.now.wall - by.acquired_at))
  const life = { alive: 'is alive', dead: 'is dead', unknown: 'cannot be seen from here' }
  const [process] = by.holders
  const owner =
    process === undefined
      ? 'without a process'
      : `by pid ${process.pid}, which ${life[claimLiveness(by, observation)]}`
  return `Held: ${what}${shared}, for ${since}, ${owner}; it ends in ${roughDuration(leftMs)} unless it is renewed.`
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
