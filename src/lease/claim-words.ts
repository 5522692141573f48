import { StintError } from '../base/errors/stint-error.ts'
import { readCommandLine } from '../base/process/platform.ts'
import { formatDuration } from '../base/text/duration.ts'
import { visibleJson, visibleText } from '../base/text/escape.ts'
import type { Claim, ClaimMode, ClaimOrigin } from './claim.ts'
import { claimLiveness, type Force, forceOf, type Observation, type SessionProcess } from './force.ts'
import type { Refused } from './rules.ts'
import { type Waiter, waitersText } from './waiting.ts'
import type { ClaimsView, WorkspaceClaims } from './workspace-claims.ts'
import { targetKind } from './workspace.ts'

// The words in which refusals, status, the page and the tools of MCP speak of a claim.

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

/** A claim that is over since it was found. */
export const noForce: Force = { leftMs: 0, isLeftover: false }

/** What a claim is on: "the whole workspace", or its paths. */
export function pathsText(paths: readonly string[], mode: ClaimMode = 'exclusive'): string {
  const what = paths.includes('**') ? 'the whole workspace' : visibleText(paths.join(' '), 200)
  return mode === 'shared' ? `${what}, shared` : what
}

/**
 * The process to name to people: the one that keeps the claim in force, or else the newest that an agent has
 * started for it, a server last.
 */
export function presentProcess(
  claim: Claim,
  force: Force,
  { work }: Observation,
): SessionProcess | undefined {
  // The processes of other programs are theirs to name: nobody looks for them at each refusal.
  if (force.process !== undefined || claim.origin?.agent === undefined) return force.process
  const processes = work(claim).filter(({ isSinceGrant }) => isSinceGrant)
  return processes.findLast(({ isServer }) => !isServer) ?? processes.at(-1)
}

/** What a session runs, or has left behind: "runs `npm test` (pid 4378)"; empty if no process is seen. */
export function workText(
  claim: Claim,
  force: Force,
  process: SessionProcess | undefined,
  observation: Observation,
): string {
  if (process === undefined) return ''
  const name = `\`${visibleText(process.command, 60).replaceAll('`', "'")}\` (pid ${process.pid})`
  if (!force.isLeftover) return `runs ${name}`
  const isDead = claimLiveness(claim, observation) === 'dead'
  return `${isDead ? 'its agent has died' : 'its turn has ended'}, but ${name} still runs`
}

/** A duration in seconds; less than one is "a moment". */
export const roughDuration = (ms: number): string =>
  ms < 1000 ? 'a moment' : formatDuration(Math.round(ms / 1000) * 1000)

/** Whether the process of a claim is the app-server of Codex, in which the sessions of all windows run. */
export const isInSharedServer = ({ origin, holders }: Claim, { liveness }: Observation): boolean =>
  origin?.shared_process === true &&
  holders.some((holder) => liveness(holder) === 'alive' && readCommandLine(holder.pid).includes('app-server'))

/** `LOCK_HELD`, with the holder and its purpose, how long the caller has waited, and how many others wait. */
export function heldError(
  claims: WorkspaceClaims,
  { by, retryAfterMs }: Refused,
  { epoch, observation }: ClaimsView,
  waitedMs: number | undefined,
  waiters: readonly Waiter[],
): StintError {
  const { session_id, holders, acquired_at, paths, purpose = null, origin = null } = by
  const force = forceOf(by, observation) ?? noForce
  const expires_in_ms = Math.round(force.leftMs)
  const pid = holders[0]?.pid ?? null
  const liveness = claimLiveness(by, observation)
  const holder = { session_id, pid, acquired_at, expires_in_ms, paths, purpose, liveness, origin }
  const location = claims.store.locate(claims.key, epoch)
  const waited = waitedMs === undefined || waitedMs <= 0 ? '' : `waited ${formatDuration(waitedMs)}`
  const notes = [waited, waitersText(waiters, observation.now)].filter(Boolean).join('; ')
  const message = `${visibleText(claims.title)} is held by ${holderText(by, observation)}${notes && ` (${notes})`}`
  return new StintError('LOCK_HELD', message, {
    hint: `${standingText(claims, by, force, observation)} ${adviceFor(claims, force, isInSharedServer(by, observation))}`,
    retryAfterMs,
    detail: `lock_file=${location} holder_pid=${pid ?? '-'}`,
    facts: { holder, waiters: waiters.length },
  })
}

/** Which session it is, whose, and what it does. */
export function holderText(by: Claim, observation: Observation): string {
  const force = forceOf(by, observation) ?? noForce
  const origin = originText(by.origin)
  const doing = by.purpose === undefined || force.isLeftover ? '' : `, ${visibleJson(by.purpose)}`
  const work = workText(by, force, presentProcess(by, force, observation), observation)
  return `${visibleText(by.session_id)}${origin && `, ${origin}`}${doing}${work && `; ${work}`}`
}

/** What is held, since when, whether its holder lives, and until when. */
function standingText(
  target: WorkspaceClaims,
  by: Claim,
  { leftMs }: Force,
  observation: Observation,
): string {
  const what = targetKind(target) === 'resource' ? '' : `${pathsText(by.paths, by.mode)}, `
  const since = roughDuration(Math.max(0, observation.now.wall - by.acquired_at))
  const life = { alive: 'is alive', dead: 'is dead', unknown: 'cannot be seen from here' }
  const [process] = by.holders
  const owner =
    process === undefined
      ? 'without a process'
      : `by pid ${process.pid}, which ${life[claimLiveness(by, observation)]}`
  return `Held: ${what}for ${since}, ${owner}; it ends in ${roughDuration(leftMs)} unless it is renewed.`
}

/** A resource has no paths, and no other place to work in. The end of a shared server ends all sessions. */
function adviceFor(target: WorkspaceClaims, { isLeftover, process }: Force, isInServer: boolean): string {
  const ways = ['Wait for the holder']
  if (targetKind(target) !== 'resource') ways.push('claim other paths (--path)', 'work in another workspace')
  if (isInServer)
    return `${ways.join(', or ')}. Do not end its pid: it is the app-server of all Codex windows.`
  const end = isLeftover && process !== undefined ? `end pid ${process.pid}` : 'end that session'
  return `${ways.join(', ')}, or ${end}.`
}
