import { StintError } from '../../base/errors/stint-error.ts'
import type { Identity } from '../../base/process/liveness.ts'
import { isSessionId, newSessionId } from '../../base/text/id.ts'
import { allClaims, isSameProcess, promptedSessions, readDescent, type Register } from '../../lease/index.ts'

/** The party that a server claims for. */
export interface McpParty {
  sessionId: string
  /** The session of the agent; undefined if the agent has no hooks: then the server is a party of its own. */
  parent?: string
}

/** A session that an agent's hooks have told stint about. */
interface KnownSession {
  sessionId: string
  /** The process of the agent. */
  agent: Identity
  /** The first words of its prompt; empty if they are not kept. */
  words: string
}

let ownSession: string | undefined

/** Finds the party of this server; the model must say which session is its own if that is not clear. */
export async function findParty(register: Register, given: string | undefined): Promise<McpParty> {
  const sessions = await agentSessions(register)
  if (sessions.length === 0) return { sessionId: (ownSession ??= newSessionId()) }
  const own = sessions.filter(({ sessionId }) => given === undefined || sessionId === given)
  const [session, another] = own
  if (session === undefined)
    throw ambiguous(sessions, `${JSON.stringify(given)} is not a session of this agent`)
  if (another !== undefined) throw ambiguous(sessions, 'this agent has several sessions')
  const parent = session.sessionId
  const sessionId = `${parent}.mcp`
  return { sessionId: isSessionId(sessionId) ? sessionId : (ownSession ??= newSessionId()), parent }
}

/**
 * The sessions that the server may work for: those of the nearest process above it that is an agent. An agent
 * with several sessions passes one of them on in a variable, or does not say which one it is.
 */
async function agentSessions(register: Register): Promise<KnownSession[]> {
  const { machine, processes, sessions: named } = readDescent(process.pid)
  const known = await knownSessions(register)
  for (const above of processes) {
    const sessions = known.filter(({ agent }) => isSameProcess(agent, { ...machine, ...above }))
    const passedOn = sessions.filter(({ sessionId }) => named.includes(sessionId))
    if (sessions.length > 0) return passedOn.length === 1 ? passedOn : sessions
  }
  return []
}

/** Hooks keep the prompts of their sessions, and claim for them. */
async function knownSessions(register: Register): Promise<KnownSession[]> {
  const { targets } = await allClaims(register)
  const claiming = targets
    .flatMap(({ claims }) => claims)
    // Hooks give their claims a policy. A subagent is not the session that a server works for.
    .filter(({ policy, ancestors }) => policy !== undefined && ancestors === undefined)
    .flatMap(({ session_id, holders }) =>
      holders.map((agent) => ({ sessionId: session_id, agent, words: '' })),
    )
  const all: KnownSession[] = [...promptedSessions(process.env), ...claiming]
  return all.filter(({ sessionId }, index) => all.findIndex((each) => each.sessionId === sessionId) === index)
}

function ambiguous(sessions: readonly KnownSession[], message: string): StintError {
  const names = sessions.map(({ sessionId, words }) =>
    words === '' ? sessionId : `${sessionId} (${JSON.stringify(words)})`,
  )
  return new StintError('ARG_ERROR', message, {
    hint: `Call this tool again with session set to the id of your own session: ${names.join(', ')}.`,
  })
}
