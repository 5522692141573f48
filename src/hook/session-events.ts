import { type Claim, type Decision, forEachClaimedSync } from '../lease/index.ts'
import type { Hold } from './choices.ts'
import { forgetCalls, isMovingOn, leave, moveOn, type Party, takeUp } from './decide.ts'
import type { HookEvent } from './event.ts'
import { isOfSession, type Surroundings } from './hook-context.ts'

/** The user has spoken: earlier calls have ended or were broken off, except in the background. */
export function hearPrompt(party: Party, around: Surroundings): void {
  forEachClaimedSync(around.register, isOfSession(party.sessionId), (claims) => {
    claims.changeSync((record, observation) => forgetCalls(record, party, observation, 'keep'))
  })
}

/** The turn is over: others may have the workspace, unless it is held for the session, or work goes on in the background. */
export function endTurn(event: HookEvent, party: Party, hold: Hold, around: Surroundings): void {
  // A subagent's end is not its session's.
  if (event.subagent) return
  const background = event.background ? 'start' : 'end'
  forEachClaimedSync(around.register, isOfSession(party.sessionId), (claims) => {
    if (hold === 'turn' && !event.background) claims.changeSync((record) => leave(record, party))
    else claims.changeSync((record, observation) => forgetCalls(record, party, observation, background))
  })
}

export function startSession(event: HookEvent, party: Party, around: Surroundings): void {
  // A compaction happens in the middle of a turn.
  const background = event.cause === 'compact' ? 'keep' : 'end'
  const isOurs = isOfSession(party.sessionId)
  const renaming = isRenaming(event)
  const isMeant = (claim: Claim): boolean => isOurs(claim) || (renaming && isMovingOn(claim))
  forEachClaimedSync(around.register, isMeant, (claims) => {
    claims.changeSync((record, observation, fence): Decision<unknown> =>
      renaming
        ? takeUp(record, party, observation, fence)
        : forgetCalls(record, party, observation, background),
    )
  })
}

export function endSession(event: HookEvent, party: Party, hold: Hold, around: Surroundings): void {
  const movesOn = hold === 'session' && isRenaming(event)
  forEachClaimedSync(around.register, isOfSession(party.sessionId), (claims) => {
    if (movesOn) claims.changeSync((record, observation, fence) => moveOn(record, party, observation, fence))
    else claims.changeSync((record) => leave(record, party))
  })
}

/** In these hosts a process has one session at a time, and `/clear` or a resume only gives it another name. */
const renamingHosts = new Set(['claude', 'gemini'])
const renamingCauses = new Set(['clear', 'resume'])

const isRenaming = ({ host, cause = '' }: HookEvent): boolean =>
  renamingHosts.has(host) && renamingCauses.has(cause)
