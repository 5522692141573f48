import { StintError } from '../base/errors/stint-error.ts'
import { ownIdentity } from '../base/process/liveness.ts'
import { readOrigin } from '../base/process/origin.ts'
import { isSessionId, newSessionId } from '../base/text/id.ts'
import { type AgentSession, agentSessions } from '../hooks/index.ts'
import { registerEnvironmentSecrets } from '../secrets/index.ts'
import {
  type AcquireRequest,
  type Claim,
  defaultTtlMs,
  type LeaseStore,
  mcpPartyOf,
  readDescent,
  type WorkspaceClaims,
} from '../lease/index.ts'

/** The party that a server claims for. */
interface McpParty {
  sessionId: string
  /** The session of the agent; undefined if the agent has no hooks: then the server is a party of its own. */
  parent?: string
}

let ownSession: string | undefined

/** Finds the party of this server; the model must say which session is its own if that is not clear. */
export async function findParty(leases: LeaseStore, name: string | undefined): Promise<McpParty> {
  const sessions = await agentSessions(leases)
  if (sessions.length === 0) return { sessionId: (ownSession ??= newSessionId()) }
  const [session, another] = sessions.filter(({ sessionId }) => name === undefined || sessionId === name)
  if (session === undefined)
    throw ambiguous(sessions, `${JSON.stringify(name)} is not a session of this agent`)
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

export interface ClaimWish {
  party: McpParty
  paths: readonly string[]
  purpose?: string
}

/** How a server asks for a claim. It works for its agent, so the two are never in each other's way. */
export const requestFor = ({ party, paths, purpose }: ClaimWish): AcquireRequest => ({
  sessionId: party.sessionId,
  parent: party.parent,
  holder: ownIdentity(),
  paths,
  mode: 'exclusive',
  forMs: defaultTtlMs,
  purpose: purpose && registerEnvironmentSecrets().gate.text(purpose),
  descent: () => readDescent(process.pid),
  origin: () => readOrigin(process.pid),
})

/** The claims that a server holds: each is refreshed until it is released, and all end with the server. */
export class HeldClaims {
  readonly #held = new Map<string, { claims: WorkspaceClaims; sessionId: string }>()
  readonly #acquiring = new Set<Promise<unknown>>()
  #timer: NodeJS.Timeout | undefined

  /** Claims what is wished, or waits for it; throws `LOCK_HELD` if another session holds it. */
  async acquire(
    claims: WorkspaceClaims,
    wish: ClaimWish,
    options: { waitMs: number; signal: AbortSignal },
  ): Promise<Claim> {
    const { sessionId } = wish.party
    const acquiring = claims.acquire(requestFor(wish), options).then(async ({ answer }) => {
      this.#held.set(`${claims.key} ${sessionId}`, { claims, sessionId })
      this.#timer ??= setInterval(() => void this.#refresh(), defaultTtlMs / 3).unref()
      // The client does not learn of a claim that it has stopped waiting for.
      if (options.signal.aborted) await this.release(claims, sessionId)
      options.signal.throwIfAborted()
      return answer.claim
    })
    this.#acquiring.add(acquiring)
    try {
      return await acquiring
    } finally {
      this.#acquiring.delete(acquiring)
    }
  }

  /** Gives up the session's claim, or these paths of it. */
  async release(
    claims: WorkspaceClaims,
    sessionId: string,
    paths?: readonly string[],
  ): Promise<{ released: boolean; left?: Claim }> {
    const answer = await claims.release({ sessionId, paths })
    if (answer.left === undefined) this.#held.delete(`${claims.key} ${sessionId}`)
    return answer
  }

  /** Ends all claims of this process. The calls that still ask for claims must have been aborted. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.allSettled(this.#acquiring)
    const holders = [ownIdentity()]
    const entries = [...this.#held.values()]
    this.#held.clear()
    await Promise.allSettled(entries.map(({ claims, sessionId }) => claims.release({ sessionId, holders })))
  }

  async #refresh(): Promise<void> {
    for (const [key, { claims, sessionId }] of this.#held) {
      try {
        const { answer } = await claims.renew({ sessionId, forMs: defaultTtlMs })
        // Another process has broken or taken over the claim: the model learns it from `who`.
        if (answer.claim === undefined) this.#held.delete(key)
      } catch {
        // The next refresh may succeed; a claim lasts for three of them.
      }
    }
  }
}
