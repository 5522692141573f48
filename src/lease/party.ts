import { ancestorsOf, type Machine, thisMachine } from '../base/process/platform.ts'
import type { Identity } from '../base/process/liveness.ts'
import { type Claim, isSameProcess } from './claim.ts'

// A party is anything that can hold a claim: a session, a subagent of it, a program under `stint run --lock`.
// A party that was started by another works for it: the two never conflict, while two children of one do.

/** A party with the sessions that it works for, its parent first. */
export interface Kin {
  session_id: string
  ancestors?: readonly string[]
}

/** The party of the MCP server that an agent has started for a session. */
export const mcpPartyOf = (sessionId: string): string => `${sessionId}.mcp`

/** Whether both are one party, or one works for the other. */
export const areKin = (a: Kin, b: Kin): boolean =>
  a.session_id === b.session_id ||
  a.ancestors?.includes(b.session_id) === true ||
  b.ancestors?.includes(a.session_id) === true

/** Where a party comes from: the processes above its own, and the sessions that its variables name. */
export interface Descent {
  machine: Machine
  /** Without its own process, the nearest first. */
  processes: readonly Pick<Identity, 'pid' | 'started'>[]
  /** False if there are more processes above, which the party cannot see. */
  isComplete: boolean
  sessions: readonly string[]
  /** The variables that name them, as `NAME=value`. */
  variables: readonly string[]
}

/** Variables in which agents pass their session to their children. */
export const sessionVariables = [
  'STINT_SESSION_ID',
  'CLAUDE_CODE_SESSION_ID',
  'CODEX_THREAD_ID',
  'COPILOT_AGENT_SESSION_ID',
  'GEMINI_SESSION_ID',
  'QWEN_CODE_SESSION_ID',
] as const

export type SessionVariable = (typeof sessionVariables)[number]

/** Reads where a party comes from that has this process as its own. */
export function readDescent(pid: number, env: NodeJS.ProcessEnv = process.env): Descent {
  const line = [...ancestorsOf(pid)]
  const last = line.at(-1)
  return {
    machine: thisMachine(),
    processes: line.slice(1),
    isComplete: last?.ppid === 0 && last.started !== null,
    sessions: sessionVariables.flatMap((name) => env[name] || []),
    variables: sessionVariables.flatMap((name) => (env[name] ? `${name}=${env[name]}` : [])),
  }
}

/** The request of a party, as far as it tells for which sessions the party works. */
export interface PartyRequest {
  sessionId?: string
  /** The session of a subagent, whose process is that of its session. */
  parent?: string
  /** Called only if the claims of others may matter. */
  descent?: () => Descent
}

/** Finds the sessions that a party works for, its parent first; undefined if there is none. */
export function findAncestors(
  claims: readonly Claim[],
  { sessionId, parent, descent }: PartyRequest,
): string[] | undefined {
  const others = claims.filter(({ session_id }) => session_id !== sessionId)
  const lineOf = ({ session_id, ancestors = [] }: Claim): string[] => [session_id, ...ancestors]
  const parentClaim = others.find(({ session_id }) => session_id === parent)
  const parents = parentClaim === undefined ? findParents(others, descent) : [parentClaim]
  const all = new Set([parent ?? [], ...parents.map(lineOf)].flat())
  all.delete(sessionId ?? '')
  return all.size === 0 ? undefined : [...all]
}

/**
 * The claims of the processes above the party, the nearest first. A variable alone counts only for a claim
 * whose processes the party cannot see: tmux servers and daemons pass variables on to unrelated processes.
 */
function findParents(claims: readonly Claim[], readDescent: PartyRequest['descent']): Claim[] {
  // Without a claim of others, no process needs to be looked up.
  const descent = claims.length === 0 ? undefined : readDescent?.()
  if (descent === undefined) return []
  const { machine, processes, isComplete, sessions, variables } = descent
  const above = processes.flatMap((process) => {
    const identity = { ...machine, ...process }
    const held = claims.filter(({ holders }) => holders.some((holder) => isSameProcess(holder, identity)))
    const possible = held.filter((claim) => !isOfOtherSession(claim, variables))
    return chooseParents(possible, sessions)
  })
  const isVisible = ({ boot, pidns, host }: Identity): boolean =>
    boot === machine.boot && pidns === machine.pidns && host === machine.host
  const unseen = claims.filter(
    ({ session_id, holders }) =>
      sessions.includes(session_id) && !(isComplete && holders.some((holder) => isVisible(holder))),
  )
  return [...above, ...unseen]
}

/** Whether the process of a claim has several sessions, and these variables name another one of them. */
export function isOfOtherSession({ origin }: Claim, variables: readonly string[]): boolean {
  const variable = origin?.shared_process ? origin.variable : undefined
  if (variable === undefined) return false
  const name = variable.slice(0, variable.indexOf('=') + 1)
  return variables.some((other) => other.startsWith(name) && other !== variable)
}

/**
 * Chooses among the claims that one process holds. It can have several sessions: then a variable must name
 * the one. It names all subagents of a session at once, which share its process and its variables.
 */
function chooseParents(held: readonly Claim[], sessions: readonly string[]): Claim[] {
  const lowest = held.filter(
    ({ session_id }) => !held.some(({ ancestors }) => ancestors?.includes(session_id)),
  )
  if (lowest.length === 1) return lowest
  const named = lowest.filter(({ session_id }) => sessions.includes(session_id))
  return named.length > 0 ? named : lowest.filter(({ ancestors }) => sessions.includes(ancestors?.[0] ?? ''))
}
