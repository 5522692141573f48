import { visibleText } from '../base/text/escape.ts'
import {
  activityText,
  ageOf,
  blockReason,
  type Claim,
  type ClaimActivity,
  isInSharedServer,
  type Observation,
  observeSession,
  originText,
  remainingMs,
  roughDuration,
  waitedMsOf,
  type Waiter,
  waitersText,
} from '../lease/index.ts'

/** The decision of a hook about an event. `context` is for the model, where its host passes it on. */
export type Verdict = { block: false; context?: string } | { block: true; reason: string }

export const pass: Verdict = { block: false }

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
    : pass

/**
 * The reason for refusing a tool call, for a model to act on: the holder, its work, and what to do now.
 * `waitedMs`: how long the hook has waited; `waiters`: those that wait now; `parent`: the session that the
 * refused party works for, if it is a subagent that is kept apart.
 */
export const callRefusal = (
  workspace: string,
  by: Claim,
  observation: Observation,
  { waitedMs, waiters, parent }: { waitedMs: number; waiters: readonly Waiter[]; parent?: string },
): string => {
  const isSibling = parent !== undefined && by.ancestors?.includes(parent) === true
  const obstacle = lookAt(by, observation)
  return [
    holderText(workspace, obstacle, isSibling ? siblingSentence(by) : holderSentence(obstacle)),
    ...(waitedMs === 0 ? [] : [`The hook has waited ${roughDuration(waitedMs)} for it.`]),
    ...(waiters.length === 0
      ? []
      : [`${waitersText(waiters.map((each) => waitedMsOf(each, observation)))}.`]),
    'Nothing was changed. Do not look for a way around it: continue with work that changes no files,',
    isSibling ? siblingAdvice : advice(obstacle),
    endText(obstacle),
  ].join(' ')
}

/** `stint lock wait` waits for other sessions only, and the end of the session would end both subagents. */
const siblingAdvice =
  'then try again, when that subagent is done; or end your turn, and tell the agent that started you.'

function advice({ left, isInSharedServer }: Obstacle): string {
  const close = isInSharedServer ? '' : 'close it, '
  const help =
    left === undefined ? `let that session finish, ${close}` : `end pid ${left.pid} if it is not needed, `
  return `then try again (\`stint lock wait --timeout 60s\`, run as a command of its own, ends as soon as it is free); or tell the user, who can ${help}or start you in another git worktree.`
}

/**
 * The reason for refusing a git command, for a person or an agent. git may have `begun` to change files; if
 * it is `done`, it cannot be stopped any more.
 */
export const gitRefusal = (
  workspace: string,
  by: Claim,
  observation: Observation,
  when: 'unbegun' | 'begun' | 'done',
): string => {
  const obstacle = lookAt(by, observation)
  return [
    holderText(workspace, obstacle, holderSentence(obstacle)),
    when === 'unbegun' ? 'Nothing was changed.' : '`git status` shows what git has changed already.',
    endText(obstacle),
    ...(when === 'done' ? [] : ['To go on anyway, set STINT_BYPASS=1 for this one command.']),
  ].join('\n')
}

/** Tells a model which session it is, for the tools of stint's MCP server that ask for it. */
export const sessionText = ({ sessionId }: { sessionId: string }): string =>
  `stint knows this session as ${visibleText(sessionId)}: if one of its tools asks for \`session\`, give it that.`

/** Tells a model, in one line, whose claims ended since its own session was last here; the last by name. */
export function handOverText(ended: readonly ClaimActivity[], { now }: Observation): string {
  const last = ended.at(-1)
  if (last === undefined) return ''
  const agent = last.origin?.agent === undefined ? '' : ` (${visibleText(last.origin.agent, 60)})`
  const what = last.paths.includes('**') ? 'this workspace' : `${listed(last.paths)} in this workspace`
  const doing = last.purpose === null ? '' : `, doing ${quoted(last.purpose)}`
  const [held, ago] = [last.held_ms ?? 0, now.wall - last.at].map(roughDuration)
  const more = ended.length - 1
  const others = more === 0 ? '' : `, and ${more} other ${more === 1 ? 'session' : 'sessions'} before it`
  return `stint: since your session was last here, session ${visibleText(last.session_id)}${agent} held ${what} for ${held}, until ${ago} ago${doing}${others}. Files that you know may have changed: read them again before you edit them. \`stint lock history\` shows more.`
}

/** A claim in the way, and what its session does. */
interface Obstacle {
  by: Claim
  observation: Observation
  /** Continues a sentence about the session. */
  busy: string
  /** The process that alone keeps the claim. */
  left: { pid: number } | undefined
  isInSharedServer: boolean
}

function lookAt(by: Claim, given: Observation): Obstacle {
  const observation = observeSession(by, given)
  const { text: busy, left } = activityText(by, observation)
  return { by, observation, busy, left, isInSharedServer: isInSharedServer(by, observation) }
}

/** A model reads this, so the texts of other sessions are quoted and stripped of control characters. */
function holderText(workspace: string, { by, observation, busy, left }: Obstacle, sentence: string): string {
  const where = visibleText(workspace)
  const what = by.paths.includes('**') ? where : `${listed(by.paths)} in ${where}`
  const purpose = left === undefined ? by.purpose : null
  const doing = purpose === null ? '' : `; it is doing ${quoted(purpose)}`
  const [held, active] = [observation.now.wall - by.acquired_at, ageOf(by, observation.now)].map(
    roughDuration,
  )
  const who = originText(by.origin)
  return `${sentence}. That session${who && ` (${who})`} has held ${what} for ${held}, was last active ${active} ago${busy}${doing}.`
}

/** The end of a shared server would end the sessions of all windows, so that sentence asks only to wait. */
function holderSentence({ by, isInSharedServer }: Obstacle): string {
  const session = visibleText(by.session_id)
  if (by.pid === null) return `parallel session lock held by ${session} — wait or close that session first`
  if (!isInSharedServer) return blockReason(session, by.pid)
  return `parallel session lock held by ${session} — wait for that session. Its pid ${by.pid} is the app-server of all Codex windows: do not end it`
}

const siblingSentence = ({ session_id }: Claim): string =>
  `parallel session lock held by ${visibleText(session_id)} — wait for it: it is another subagent of your own session`

function endText({ by, observation, left }: Obstacle): string {
  const end = left === undefined ? 'Its claim expires' : 'It is free when the last such process has ended,'
  return `${end} in at most ${roughDuration(remainingMs(by, observation))}; \`stint lock status\` shows it.`
}

/** Text of another session, which cannot end the quotation: escaped once, as everything else in a message. */
const quoted = (text: string): string => `"${visibleText(text, 200).replaceAll('"', "'")}"`

const listed = (paths: readonly string[]): string => {
  const shown = paths.slice(0, 3).map((path) => visibleText(path, 100))
  return paths.length > 3 ? `${shown.join(', ')} and ${paths.length - 3} more` : shown.join(', ')
}
