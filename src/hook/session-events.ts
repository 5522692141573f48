import { ifPossible } from '../base/errors/if-possible.ts'
import {
  type Claim,
  type ClaimOrigin,
  type Decision,
  forEachClaimedSync,
  forgetPrompt,
  isSameProcess,
  keepPrompt,
  type NewCall,
  type Register,
} from '../lease/index.ts'
import {
  endCalls,
  endTurn,
  isBeingRenamed,
  markRenaming,
  notePrompt,
  noteWaiting,
  type Party,
  takeOverRenamed,
} from './decide.ts'
import type { HookEvent } from './event.ts'
import { hosts } from './hosts.ts'
import type { HoldUntil } from './options.ts'

/** The register of an event, and the environment of its agent. */
interface Context {
  register: Register
  env: NodeJS.ProcessEnv
}

/**
 * The user has sent a prompt: earlier calls have ended or were cancelled. Its first words, if they may be
 * shown, are kept for the claims of the turn.
 */
export function handlePrompt(
  party: Party,
  words: string | undefined,
  origin: () => ClaimOrigin,
  { register, env }: Context,
): void {
  // A claim without these words is as good.
  if (words !== undefined)
    ifPossible(() => {
      const prompt = { words, agent: party.agent, origin: { ...origin(), prompt: words } }
      keepPrompt(party.sessionId, prompt, env)
    })
  forEachClaimedSync(register, isOfSession(party.sessionId), (claims) => {
    claims.changeSync((record, observation) => {
      const { next = record, answer } = endCalls(record, party, observation)
      const noted = words === undefined ? next : notePrompt(next, party, words)
      return { next: noted === record ? undefined : noted, answer }
    })
  })
}

/** Calls have ended, whether they ran or not: those with these ids, or all. */
export function endOpenCalls(party: Party, register: Register, ids?: readonly string[]): void {
  forEachClaimedSync(register, isOfSession(party.sessionId), (claims) => {
    claims.changeSync((record, observation) => endCalls(record, party, observation, ids))
  })
}

/** The agent asks its user for permission. */
export function handleWaiting(call: Partial<NewCall>, party: Party, register: Register): void {
  forEachClaimedSync(register, isOfSession(party.sessionId), (claims) => {
    claims.changeSync((record, observation) => noteWaiting(record, party, call, observation))
  })
}

/** The turn is over. */
export function handleStop(party: Party, hold: HoldUntil, register: Register): void {
  forEachClaimedSync(register, isOfSession(party.sessionId), (claims) => {
    claims.changeSync((record, observation) => endTurn(record, party, hold, observation))
  })
}

export function startSession(event: HookEvent, party: Party, register: Register): void {
  const isOwn = isOfSession(party.sessionId)
  const renaming = isRenaming(event)
  const isAffected = (claim: Claim): boolean => isOwn(claim) || (renaming && isBeingRenamed(claim))
  forEachClaimedSync(register, isAffected, (claims) => {
    claims.changeSync((record, observation, fence): Decision<unknown> =>
      renaming ? takeOverRenamed(record, party, observation, fence) : endCalls(record, party, observation),
    )
  })
}

/** A subagent has ended: its claim goes, those of its session and of other subagents stay. */
export function endSubagent({ sessionId }: Party, register: Register): void {
  forEachClaimedSync(register, isOfSession(sessionId), (claims) => {
    claims.releaseSync({ sessionId })
  })
}

/** Whether a claim ends with the session: that of a subagent, in the same process, or of its MCP server. */
const endsWith =
  ({ sessionId, agent }: Party) =>
  ({ ancestors, as_parent, holders }: Claim): boolean =>
    ancestors?.[0] === sessionId &&
    (as_parent === true || (agent !== null && holders.every((holder) => isSameProcess(holder, agent))))

export function endSession(event: HookEvent, party: Party, hold: HoldUntil, context: Context): void {
  const goesOn = hold === 'session' && isRenaming(event)
  const { register, env } = context
  forgetPrompt(party.sessionId, env)
  forEachClaimedSync(register, endsWith(party), (claims) => {
    const isAnother = (claim: Claim): boolean => !endsWith(party)(claim)
    claims.changeSync((record) => ({
      next: { ...record, claims: record.claims.filter(isAnother) },
      answer: undefined,
    }))
  })
  forEachClaimedSync(register, isOfSession(party.sessionId), (claims) => {
    if (goesOn)
      claims.changeSync((record, observation, fence) => markRenaming(record, party, observation, fence))
    else claims.changeSync((record, observation) => endTurn(record, party, 'turn', observation))
  })
}

export const isOfSession =
  (sessionId: string) =>
  ({ session_id }: Claim): boolean =>
    session_id === sessionId

const renamingCauses = new Set(['clear', 'resume'])

/** Whether the process of the agent goes on with another session, or began with another one. */
export const isRenaming = ({ host, cause = '' }: HookEvent): boolean =>
  hosts[host].renamesSessions && renamingCauses.has(cause)
