import { StintError } from '../base/errors/stint-error.ts'
import { isSessionId, newSessionId } from '../base/text/id.ts'
import { type LeaseStore, mcpPartyOf } from '../lease/index.ts'
import { type AgentSession, agentSessions } from '../hooks/agent-sessions.ts'

/** The party that a server claims for. */
export interface McpParty {
  sessionId: string
  /** The session of the agent; undefined if the agent has no hooks: then the server is a party of its own. */
  parent?: string
}

let ownSession: string | undefined

/** Finds the party of this server; the model must say which session is its own if that is not clear. */
export async function findParty(leases: LeaseStore, given: string | undefined): Promise<McpParty> {
  const sessions = await agentSessions(leases)
  if (sessions.length === 0) return { sessionId: (ownSession ??= newSessionId()) }
  const own = sessions.filter(({ sessionId }) => given === undefined || sessionId === given)
  const [session, another] = own
  if (session === undefined)
    throw ambiguous(sessions, `${JSON.stringify(given)} is not a session of this agent`)
  if (another !== undefined) throw ambiguous(sessions, 'this agent has several sessions')
  const parent = session.sessionId
  const sessionId = mcpPartyOf(parent)
  return { sessionId: isSessionId(sessionId) ? sessionId : (ownSession ??= newSessionId()), parent }
}

function ambiguous(sessions: readonly AgentSession[], message: string): StintError {
  const names = sessions.map(({ sessionId, words }) =>
    words === '' ? sessionId : `${sessionId} (${JSON.stringify(words)})`,
  )
  return new StintError('ARG_ERROR', message, {
    hint: `Call this tool again with session set to the id of your own session: ${names.join(', ')}.`,
  })
}
