import type { HookChoices } from './command-line.ts'
import { forgetCalls, leave, moveOn, movingOn, type Party, takeUp } from './decide.ts'
import type { HookEvent } from './event.ts'
import { booksNaming, changeNow, type Surroundings } from './surroundings.ts'

type Hold = Required<HookChoices>['hold']

/** The user has spoken: what was running has ended or was broken off, except in the background. */
export function hearPrompt(party: Party, around: Surroundings): void {
  for (const book of booksNaming(party.sessionId, around))
    changeNow(book, (claims, witness) => forgetCalls(claims, party, witness, 'keep'))
}

/** The turn is over: others may have the workspace, unless it is held for the session, or work goes on in the background. */
export function endTurn(event: HookEvent, party: Party, hold: Hold, around: Surroundings): void {
  // A subagent's end is not its session's.
  if (event.subagent) return
  for (const book of booksNaming(party.sessionId, around)) {
    if (hold === 'turn' && !event.background) changeNow(book, (claims) => leave(claims, party))
    else
      changeNow(book, (claims, witness) =>
        forgetCalls(claims, party, witness, event.background ? 'start' : 'end'),
      )
  }
}

export function startSession(event: HookEvent, party: Party, around: Surroundings): void {
  for (const book of booksNaming(party.sessionId, around)) {
    // A compaction happens in the middle of a turn.
    const background = event.cause === 'compact' ? 'keep' : 'end'
    changeNow(book, (claims, witness) => forgetCalls(claims, party, witness, background))
  }
  if (!isRenaming(event)) return
  for (const book of booksNaming(movingOn, around))
    changeNow(book, (claims, witness, fence) => takeUp(claims, party, witness, fence))
}

export function endSession(event: HookEvent, party: Party, hold: Hold, around: Surroundings): void {
  for (const book of booksNaming(party.sessionId, around)) {
    if (hold === 'session' && isRenaming(event))
      changeNow(book, (claims, witness, fence) => moveOn(claims, party, witness, fence))
    else changeNow(book, (claims) => leave(claims, party))
  }
}

/** In these, a process has one session at a time, and `/clear` or a resume only gives it another name. */
const renamingHosts = new Set(['claude', 'gemini'])
const renamingCauses = new Set(['clear', 'resume'])

const isRenaming = ({ host, cause = '' }: HookEvent): boolean =>
  renamingHosts.has(host) && renamingCauses.has(cause)
