import type { Identity } from '../base/process/liveness.ts'
import { allClaims, homeStore, isSameProcess, type LeaseStore, readDescent } from '../lease/index.ts'
import { promptedSessions } from './session-prompt.ts'

/** A session that an agent's hooks have told stint about. */
export interface AgentSession {
  sessionId: string
  /** The process of the agent. */
  agent: Identity
  /** The first words of its prompt; empty if they are not kept. */
  words: string
}

/**
 * Whether an agent has started this process: a variable names its session, or its process is above this one.
 * Cursor and VS Code set no variable, and are found only if their hooks have told stint about a session.
 */
export const isBelowAgent = async (): Promise<boolean> =>
  readDescent(process.pid).sessions.length > 0 || (await agentSessions(homeStore())).length > 0

/**
 * The sessions of the nearest process above this one that is an agent. An agent with several
 * sessions passes one of them on in a variable, or does not say which one it is.
 */
export async function agentSessions(store: LeaseStore): Promise<AgentSession[]> {
  const { machine, processes, sessions: named } = readDescent(process.pid)
  const known = await knownSessions(store)
  for (const above of processes) {
    const sessions = known.filter(({ agent }) => isSameProcess(agent, { ...machine, ...above }))
    const passedOn = sessions.filter(({ sessionId }) => named.includes(sessionId))
    if (sessions.length > 0) return passedOn.length === 1 ? passedOn : sessions
  }
  return []
}

/** Hooks keep the prompts of their sessions, and claim for them. */
async function knownSessions(store: LeaseStore): Promise<AgentSession[]> {
  const { targets } = await allClaims(store)
  const claiming = targets
    .flatMap(({ claims }) => claims)
    // Hooks name the agent of their claims. A subagent has the process of its session.
    .filter(({ origin, ancestors }) => origin?.agent !== undefined && ancestors === undefined)
    .flatMap(({ session_id, holders }) =>
      holders.map((agent) => ({ sessionId: session_id, agent, words: '' })),
    )
  const all: AgentSession[] = [...promptedSessions(process.env), ...claiming]
  return all.filter(({ sessionId }, index) => all.findIndex((each) => each.sessionId === sessionId) === index)
}
