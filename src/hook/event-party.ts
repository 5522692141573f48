import type { Identity } from '../base/process/liveness.ts'
import { isSessionId } from '../base/text/id.ts'
import { md5 } from '../base/text/md5.ts'
import type { Claim } from '../lease/index.ts'
import type { HookEvent } from './event.ts'
import type { HostName } from './host.ts'
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
