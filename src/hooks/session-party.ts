import { statSync } from 'node:fs'
import { ifPossible } from '../base/errors/if-possible.ts'
import type { Identity } from '../base/process/liveness.ts'
import { readOrigin } from '../base/process/origin.ts'
import { type Ancestor, ancestorsOf, readCommandLine, thisMachine } from '../base/process/platform.ts'
import { isSessionId } from '../base/text/id.ts'
import { md5 } from '../base/text/md5.ts'
import { type Claim, type ClaimOrigin } from '../lease/index.ts'
import { readPrompt, windowsOf } from './session-prompt.ts'
import type { HookEvent } from './event.ts'
import type { HostName } from './hosts/host.ts'
import { hosts } from './hosts/hosts.ts'
import type { HookChoices } from './options.ts'

/** The session of an event, or its subagent if these are kept apart, and its agent's process. */
export interface Party {
  sessionId: string
  agent: Identity | null
  /** The event named no session: its call belongs to the session that its agent's process holds here. */
  isUnnamed?: boolean
  /** The session that a subagent works for, if subagents are kept apart. */
  parent?: string
}

export function partyOf(
  { sessionId, host, agentId }: HookEvent,
  { subagents }: Pick<HookChoices, 'subagents'>,
  agent: Identity | null,
): Party {
  const session = sessionName(sessionId, host, agent)
  if (agentId === undefined || subagents !== 'apart')
    return { sessionId: session, agent, isUnnamed: sessionId === undefined }
  return { sessionId: sessionName(`${session}.${agentId}`, host, agent), agent, parent: session }
}

/** The session id of a claim: the host's own id, if it is a valid one. */
export function sessionName(given: string | undefined, host: HostName, agent: Identity | null): string {
  if (given === undefined)
    return agent === null ? `${host}-unknown` : `${host}-${agent.pid}-${agent.started ?? 0}`
  if (isSessionId(given)) return given
  // The hash keeps two ids distinct that differ only in replaced characters.
  return `${host}-${given.replaceAll(/[^\w.-]/g, '_').slice(0, 60)}-${md5(given).slice(0, 12)}`
}

/** Whether a claim is of this session, or of a second window with its id: `<id>@<pid>`. */
export const isOfSession =
  (sessionId: string) =>
  ({ session_id }: Pick<Claim, 'session_id'>): boolean =>
    session_id === sessionId || session_id.startsWith(`${sessionId}@`)

/** Where the session works, on what, and where the evidence about its claims is. */
export function originOf(
  event: HookEvent,
  party: Party,
  { prompts }: Pick<HookChoices, 'prompts'>,
  env: NodeJS.ProcessEnv,
): ClaimOrigin {
  const { host, cwd, sessionId } = event
  const { title, sessionVariable, sharesProcess } = hosts[host]
  const { agent, parent } = party
  const { terminal, tmux_pane: pane, ...place } = readOrigin(agent?.pid ?? process.pid, env, cwd)
  const prompt = prompts === false ? undefined : readPrompt(parent ?? party.sessionId, env)
  const transcript = transcriptNow(event, party, env)
  return {
    agent: title,
    ...place,
    // The app-server of Codex has the terminal of the window that started it, whichever window this is.
    ...(!isServer(party) && { ...(terminal && { terminal }), ...(pane && { tmux_pane: pane }) }),
    ...(prompt && { prompt }),
    ...(transcript && { transcript }),
    ...(sessionVariable && sessionId && { variable: `${sessionVariable}=${parent ?? party.sessionId}` }),
    ...(sharesProcess && { shared_process: true }),
  }
}

const isServer = ({ agent }: Party): boolean =>
  agent !== null && readCommandLine(agent.pid).includes('app-server')

/**
 * The transcript in which the host notes interruptions, and its size now. Two windows of one session share
 * the file, and a subagent has another: there an interruption says nothing about this party.
 */
export function transcriptNow(
  { host, transcript: path }: HookEvent,
  { sessionId, agent, parent }: Party,
  env: NodeJS.ProcessEnv,
): ClaimOrigin['transcript'] {
  if (!hosts[host].notesInterruptions || path === undefined || parent !== undefined) return undefined
  if (windowsOf(sessionId, agent, env).length > 1) return undefined
  return { path, size: ifPossible(() => statSync(path).size) ?? 0 }
}

/** Programs between an agent and its hook, which end with the hook. */
const shells = new Set(
  'sh bash dash zsh ash ksh mksh fish busybox pwsh powershell cmd.exe env timeout nice'.split(' '),
)

/** Programs that adopt orphans: they live as long as the machine, and are no agent. */
export const reapers = new Set(
  'systemd init launchd tini dumb-init docker-init catatonit s6-svscan'.split(' '),
)

/**
 * Finds the agent's process, whose life the claim depends on; the hook's own ends in a moment. Null if there
 * is none, as when the agent died while its hook started: then the claim ends only by its TTL.
 */
export function agentProcess(
  host: HostName,
  env: NodeJS.ProcessEnv,
  ancestors: Iterable<Ancestor> = ancestorsOf(process.ppid),
): Identity | null {
  const agent = chooseAgent(host, env, ancestors)
  return agent === undefined ? null : { pid: agent.pid, started: agent.started, ...thisMachine() }
}

/**
 * Chooses the ancestor that the host names, or else the first that is not a shell. A hook whose shell was
 * killed has lost its ancestors, and counts as one of the process that the host names: if that has died, too,
 * so has the claim.
 */
export function chooseAgent(
  host: HostName,
  env: NodeJS.ProcessEnv,
  ancestors: Iterable<Ancestor>,
): Ancestor | undefined {
  const { processVariable } = hosts[host]
  const namedPid = processVariable === undefined ? Number.NaN : Number(env[processVariable])
  let nearest: Ancestor | undefined
  let isOrphan: boolean | undefined
  for (const ancestor of ancestors) {
    if (ancestor.pid === namedPid) return ancestor
    // Process 1 adopts a hook whose shell was killed. As an ancestor of all sessions it makes them kin.
    isOrphan ??= ancestor.pid === 1 && ancestor.name !== host
    if (!shells.has(ancestor.name)) nearest ??= ancestor
    // The variable is inherited by all descendants: it may be that of an outer or a former session.
    if (nearest !== undefined && !(namedPid > 0)) break
  }
  if (nearest === undefined || !(isOrphan || reapers.has(nearest.name))) return nearest
  return namedPid > 0 ? ancestorsOf(namedPid).next().value : undefined
}
