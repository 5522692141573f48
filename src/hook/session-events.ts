import type { Claim } from '../lease/claim.ts'
import type { Decision } from '../lease/rules.ts'
import type { Hold } from './choices.ts'
import { forgetCalls, isMovingOn, leave, moveOn, type Party, takeUp } from './decide.ts'
import type { HookEvent } from './event.ts'
import { changeNow, forEachBook, isOfSession, type Surroundings } from './hook-context.ts'

/** The user has spoken: earlier calls have ended or were broken off, except in the background. */
export function hearPrompt(party: Party, around: Surroundings): void {
  forEachBook(isOfSession(party.sessionId), around, (book) => {
    changeNow(book, (claims, observation) => forgetCalls(claims, party, observation, 'keep'))
  })
}

/** The turn is over: others may have the workspace, unless it is held for the session, or work goes on in the background. */
export function endTurn(event: HookEvent, party: Party, hold: Hold, around: Surroundings): void {
  // A subagent's end is not its session's.
  if (event.subagent) return
  const background = event.background ? 'start' : 'end'
  forEachBook(isOfSession(party.sessionId), around, (book) => {
    if (hold === 'turn' && !event.background) changeNow(book, (claims) => leave(claims, party))
    else changeNow(book, (claims, observation) => forgetCalls(claims, party, observation, background))
  })
}

export function startSession(event: HookEvent, party: Party, around: Surroundings): void {
  // A compaction happens in the middle of a turn.
  const background = event.cause === 'compact' ? 'keep' : 'end'
  const isOurs = isOfSession(party.sessionId)
  const renaming = isRenaming(event)
  const isMeant = (claim: Claim): boolean => isOurs(claim) || (renaming && isMovingOn(claim))
  forEachBook(isMeant, around, (book) => {
    changeNow(book, (claims, observation, fence): Decision<unknown> =>
      renaming
        ? takeUp(claims, party, observation, fence)
        : forgetCalls(claims, party, observation, background),
    )
  })
}

export function endSession(event: HookEvent, party: Party, hold: Hold, around: Surroundings): void {
  const movesOn = hold === 'session' && isRenaming(event)
  forEachBook(isOfSession(party.sessionId), around, (book) => {
    if (movesOn) changeNow(book, (claims, observation, fence) => moveOn(claims, party, observation, fence))
    else changeNow(book, (claims) => leave(claims, party))
  })
}

/** In these hosts a process has one session at a time, and `/clear` or a resume only gives it another name. */
const renamingHosts = new Set(['claude', 'gemini'])
const renamingCauses = new Set(['clear', 'resume'])

const isRenaming = ({ host, cause = '' }: HookEvent): boolean =>
  renamingHosts.has(host) && renamingCauses.has(cause)
