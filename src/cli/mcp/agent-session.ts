import { StintError } from '../../base/errors/stint-error.ts'
import type { Identity } from '../../base/process/liveness.ts'
import { isSessionId, newSessionId } from '../../base/text/id.ts'
import {
  allClaims,
  type Descent,
  isSameProcess,
  promptedSessions,
  readDescent,
  type Register,
} from '../../lease/index.ts'

/** A session that an agent's hooks have told stint about. */
export interface KnownSession {
  sessionId: string
  /** The process of the agent. */
  agent: Identity
  /** The first words of its prompt; empty if they are not kept. */
  words: string
}

/** The party that a server claims for. */
export interface McpParty {
  sessionId: string
  /** The session of the agent; undefined if the agent has no hooks: then the server is a party of its own. */
  parent?: string
}

/**
 * The sessions that the server may work for: those of the nearest process above it that is an agent. An agent
 * with several sessions passes one of them on in a variable, or does not say which one it is.
 */
export function chooseSessions(
  { machine, processes, sessions }: Pick<Descent, 'machine' | 'processes' | 'sessions'>,
  known: readonly KnownSession[],
): KnownSession[] {
  for (const process of processes) {
    const of = known.filter(({ agent }) => isSameProcess(agent, { ...machine, ...process }))
    const named = of.filter(({ sessionId }) => sessions.includes(sessionId))
    if (of.length > 0) return named.length === 1 ? named : of
  }
  return []
}

/** Finds the party of this server; the model must say which session is its own if that is not clear. */
export async function findParty(register: Register, given: string | undefined): Promise<McpParty> {
  const found = chooseSessions(readDescent(process.pid), await knownSessions(register))
  const [first, second] = found
  if (given !== undefined && found.length > 0) {
    const own = found.find(({ sessionId }) => sessionId === given)
    if (own === undefined) throw ambiguous(found, `${JSON.stringify(given)} is not a session of this agent`)
    return partyOf(own.sessionId)
  }
  if (first === undefined) return { sessionId: (ownSession ??= newSessionId()) }
  if (second !== undefined) throw ambiguous(found, 'this agent has several sessions')
  return partyOf(first.sessionId)
}

let ownSession: string | undefined

const partyOf = (parent: string): McpParty => {
  const sessionId = `${parent}.mcp`
  return { sessionId: isSessionId(sessionId) ? sessionId : (ownSession ??= newSessionId()), parent }
}

/** Hooks keep the prompts of their sessions, and claim for them. */
async function knownSessions(register: Register): Promise<KnownSession[]> {
  const prompted = promptedSessions(process.env)
  const { targets } = await allClaims(register)
  const claiming = targets.flatMap(({ claims }) =>
    claims
      // Hooks give their claims a policy. A subagent is not the session that a server works for.
      .filter(({ policy, ancestors }) => policy !== undefined && ancestors === undefined)
      .flatMap(({ session_id, holders }) =>
        holders.map((agent) => ({ sessionId: session_id, agent, words: '' })),
      ),
  )
  const isNew = ({ sessionId }: KnownSession, at: number, all: readonly KnownSession[]): boolean =>
    all.findIndex((each) => each.sessionId === sessionId) === at
  return [...prompted, ...claiming].filter(isNew)
}

function ambiguous(found: readonly KnownSession[], message: string): StintError {
  const names = found.map(({ sessionId, words }) =>
    words === '' ? sessionId : `${sessionId} (${JSON.stringify(words)})`,
  )
  return new StintError('ARG_ERROR', message, {
    hint: `Call this tool again with session set to the id of your own session: ${names.join(', ')}.`,
  })
}
