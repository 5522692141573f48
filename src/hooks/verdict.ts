import { visibleText } from '../base/text/escape.ts'
import {
  type Claim,
  type ClaimActivity,
  claimLiveness,
  type Force,
  forceOf,
  isInSharedServer,
  type Observation,
  presentProcess,
  roughDuration,
  type SessionProcess,
} from '../lease/index.ts'
import type { ChangedFiles } from '../points/index.ts'
import type { HookEvent } from './event.ts'
import type { HostName } from './hosts/host.ts'
import { hosts } from './hosts/hosts.ts'

/** The decision of a hook about an event. `context` is for the model, where its host passes it on. */
export type Verdict = { block: false; context?: string } | { block: true; reason: string }

export const allowed: Verdict = { block: false }

/** The two tasks of a hook, either of which can fail. */
export const checkTask = 'check whether another session holds this workspace'
export const recordTask = 'record this call'

/**
 * The verdict when stint itself fails: a broken lock that blocks all work is worse than none, so the call
 * goes on, unless the user chose to fail closed. `choice` names the option that says so.
 */
export const onFault = (failClosed: boolean, choice: string, task: string, fault: string): Verdict =>
  failClosed
    ? {
        block: true,
        reason: `stint could not ${task} (${visibleText(fault)}), and ${choice} refuses the call in that case. Tell the user: \`stint doctor\` shows what is wrong.`,
      }
    : allowed

/** A claim in the way, what keeps it in force, and the process of its session to name. */
interface Obstacle {
  by: Claim
  observation: Observation
  force: Force
  process: SessionProcess | undefined
}

function lookAt(by: Claim, observation: Observation): Obstacle {
  const force = forceOf(by, observation) ?? { leftMs: 0, isLeftover: false }
  return { by, observation, force, process: presentProcess(by, force, observation) }
}

/** The most characters of a refusal: a model reads it again and again. */
const maxRefusal = 400

interface RefusedParty {
  /** How long the hook has waited, in milliseconds. */
  waitedMs: number
  /** The session that the refused party works for, if it is a subagent that is kept apart. */
  parent?: string
  /** How a model of this host waits for a command, if it must say so. */
  yieldHint?: string
}

/** The reason for refusing a tool call, for a model to act on: the holder, its work, and one instruction. */
export function callRefusal(
  by: Claim,
  observation: Observation,
  { waitedMs, parent, yieldHint = '' }: RefusedParty,
): string {
  const obstacle = lookAt(by, observation)
  if (parent !== undefined && by.ancestors?.includes(parent) === true) return siblingRefusal(obstacle)
  const waited = waitedMs === 0 ? '' : ` The hook has waited ${roughDuration(waitedMs)}.`
  const end = `${waited} Nothing was changed. Read on, or run \`stint lock wait --timeout 60s\`${yieldHint}, then read the files again and retry. If it stays held, tell your user.`
  return fitRefusal(opening(obstacle), workSentences(obstacle), end)
}

/** The first of these sentences that fits between the opening and the end. */
function fitRefusal(first: string, middles: readonly string[], end: string): string {
  const fits = (middle: string): boolean => first.length + middle.length + end.length <= maxRefusal
  return `${first}${middles.find(fits) ?? ''}${end}`
}

/** `stint lock wait` waits for other sessions only, and the end of the session would end both subagents. */
const siblingRefusal = ({ by }: Obstacle): string =>
  `parallel session lock held by ${shortId(by.session_id)} (${pidText(by)}) — wait for it: it is another subagent of your own session. Nothing was changed. Read on, and retry when that subagent is done; or end your turn, and tell the agent that started you.`

/** The seed's sentence while the holder lives; a dead agent or an ended turn has no session to close. */
function opening({ by, observation, force, process }: Obstacle): string {
  const session = shortId(by.session_id)
  if (force.isLeftover && process !== undefined) {
    const reason = claimLiveness(by, observation) === 'dead' ? 'its agent has died' : 'its turn has ended'
    return `parallel session lock held by what session ${session} has left running: ${commandOf(process)} — ${reason}; wait for that process.`
  }
  const held = `parallel session lock held by ${session} (${pidText(by)})`
  if (!isInSharedServer(by, observation)) return `${held} — wait or close that session first.`
  return `${held} — wait for that session. The pid is the app-server of all Codex windows: do not end it.`
}

/** What is known about the holder, the longest text first. */
function workSentences({ by, observation, force, process }: Obstacle): string[] {
  if (force.isLeftover) return []
  const { agent, prompt } = by.origin ?? {}
  const since = roughDuration(Math.max(0, observation.now.wall - by.acquired_at))
  const where = windowOf(by)
  const work = process === undefined ? '' : ` and runs ${commandOf(process)}`
  // People give the claims of their own commands a purpose.
  const about = agent === undefined ? by.purpose : prompt
  const words = about === undefined ? '' : ` (${quoteText(about)})`
  const who = agent === undefined ? 'That session' : visibleText(agent, 40)
  const here = by.paths.includes('**') ? 'here' : `on ${listPaths(by.paths)}`
  return [
    ` ${who}${where} has worked ${here} for ${since}${words}${work}.`,
    ` ${who}${where} has worked ${here} for ${since}${work}.`,
    ` ${who}${where} has worked here for ${since}.`,
    ` ${who} has worked here for ${since}.`,
  ]
}

function windowOf({ origin }: Claim): string {
  const { terminal, tmux_pane: pane } = origin ?? {}
  if (pane !== undefined) return ` in tmux ${visibleText(pane, 10)}`
  return terminal === undefined ? '' : ` in ${visibleText(terminal, 20)}`
}

/** Enough of an id to name its claim: commands take a prefix. */
const shortId = (id: string): string =>
  /^[0-9a-f]{8}-[0-9a-f-]{27}/.test(id) ? id.slice(0, 8) : visibleText(id, 40)

const pidText = ({ holders: [holder] }: Claim): string =>
  holder === undefined ? 'no pid' : `pid ${holder.pid}`

const commandOf = ({ command, pid }: SessionProcess): string =>
  `\`${visibleText(command, 60).replaceAll('`', "'")}\` (pid ${pid})`

/** The reason for refusing a git command; if it is `done`, it cannot be stopped any more. */
export function gitRefusal(by: Claim, observation: Observation, when: 'unbegun' | 'begun' | 'done'): string {
  const obstacle = lookAt(by, observation)
  const [work = ''] = workSentences(obstacle)
  return [
    opening(obstacle),
    ...(work === '' ? [] : [work.trim()]),
    when === 'unbegun' ? 'Nothing was changed.' : '`git status` shows what git has changed already.',
    ...(when === 'done' ? [] : ['To go on anyway, set STINT_BYPASS=1 for this one command.']),
  ].join('\n')
}

/** Tells a model which session it is, for the tools of stint's MCP server that ask for it. */
export const sessionText = ({ sessionId }: { sessionId: string }): string =>
  `stint knows this session as ${visibleText(sessionId)}: if one of its tools asks for \`session\`, give it that.`

/** Tells a model, in one line, whose claims ended since its own session was last here; the last by name. */
export function handOverText(
  ended: readonly ClaimActivity[],
  { now }: Observation,
  changed: ChangedFiles = { files: [], more: 0 },
): string {
  const last = ended.at(-1)
  if (last === undefined) return ''
  const agent = last.origin?.agent === undefined ? '' : ` (${visibleText(last.origin.agent, 60)})`
  const what = last.paths.includes('**') ? 'this workspace' : `${listPaths(last.paths)} in this workspace`
  const [held, ago] = [last.held_ms ?? 0, now.wall - last.at].map(roughDuration)
  const more = ended.length - 1
  const others = more === 0 ? '' : `, and ${more} other ${more === 1 ? 'session' : 'sessions'} before it`
  return `stint: since your session was last here, session ${visibleText(last.session_id)}${agent} held ${what} for ${held}, until ${ago} ago${others}. ${changedText(changed)}\`stint lock history\` shows more.`
}

function changedText({ files, more }: ChangedFiles): string {
  if (files.length === 0)
    return 'Files that you know may have changed: read them again before you edit them. '
  const names = files.map((file) => visibleText(file, 100)).join(', ')
  return `Changed since: ${names}${more === 0 ? '' : ` and ${more} more`}. Read them again before you edit them. `
}

/** Tells a model that a person has taken its changes back. */
export const undoneText = (files: readonly string[]): string =>
  `stint: your user has undone changes of this session: ${listPaths(files)}. Read these files again before you edit them.`

/** Tells a model that its session no longer holds the workspace, although its turn goes on. */
export function claimLossText(loss: ClaimActivity, { now }: Observation): string {
  const ago = roughDuration(now.wall - loss.at)
  const by = loss.by === undefined ? '' : ` by ${visibleText(loss.by, 60)}`
  const how = loss.kind === 'break' ? `broken${by}` : `taken over${by}`
  return `stint: your session's claim on this workspace was ${how} ${ago} ago, as it was not renewed in time. Files may have changed: read them again before you edit them.`
}

/** Text of another session, which cannot end the quotation: escaped once, as everything else in a message. */
const quoteText = (text: string): string => `"${visibleText(text, 80).replaceAll('"', "'")}"`

const listPaths = (paths: readonly string[]): string => {
  const shown = paths.slice(0, 3).map((path) => visibleText(path, 60))
  return paths.length > 3 ? `${shown.join(', ')} and ${paths.length - 3} more` : shown.join(', ')
}

/** The output and exit code of a hook, in the format of its host. */
export interface HookResponse {
  stdout: string
  stderr: string
  code: number
  /** The exit code if stdout is not read: a refusal must not get lost with it. */
  codeIfUnread: number
}

/** The event that a response is for. */
interface ResponseTarget extends Pick<HookEvent, 'host' | 'kind'> {
  /** The host whose settings started this hook. */
  configured: HostName
  failClosed: boolean
}

const silence: HookResponse = { stdout: '', stderr: '', code: 0, codeIfUnread: 0 }

/** Formats a verdict for its host. */
export function formatResponse(verdict: Verdict, to: ResponseTarget): HookResponse {
  const { kind } = to
  if (kind !== 'pre' && kind !== 'post' && kind !== 'start' && kind !== 'prompt') return silence
  const host = hosts[to.host]
  if (!verdict.block) {
    const allow = kind === 'pre' && to.failClosed ? host.allowIfFailClosed : undefined
    const { context } = verdict
    const output = context === undefined ? undefined : host.context?.(context, kind)
    return { ...silence, stdout: line(output ?? allow) }
  }
  // Only a call that is about to run can be refused: the same exit code later would disturb the agent.
  if (kind !== 'pre') return silence
  const guestCode = to.configured === to.host ? undefined : host.refusalExitCodeAsGuest
  return {
    stdout: line(host.refusal?.(verdict.reason)),
    stderr: `${verdict.reason}\n`,
    code: guestCode ?? host.refusalExitCode,
    codeIfUnread: 2,
  }
}

const line = (value: object | undefined): string => (value === undefined ? '' : `${JSON.stringify(value)}\n`)
