import { type Claim, type Decision, forEachClaimedSync, type Register } from '../lease/index.ts'
import {
  forgetCalls,
  isBeingRenamed,
  leaveClaim,
  markRenaming,
  type Party,
  takeOverRenamed,
} from './decide.ts'
import type { HookEvent } from './event.ts'
import { hosts } from './hosts.ts'
import type { HoldUntil } from './options.ts'

/** The senders of a prompt that speak for the user; a host that names none sends only the user's. */
const speakers: ReadonlySet<unknown> = new Set([undefined, 'user', 'sdk'])

/** The user has sent a prompt: earlier calls have ended or were cancelled, except background work. */
export function handlePrompt(event: HookEvent, party: Party, register: Register): void {
  // Claude Code also sends prompts of its own, such as a wake-up, while calls run.
  if (!speakers.has(event.cause)) return
  forEachClaimedSync(register, isOfSession(party.sessionId), (claims) => {
    claims.changeSync((record, observation) => forgetCalls(record, party, observation, 'keep'))
  })
}

/** The turn is over: the claim is released, unless it is held for the session or background work goes on. */
export function endTurn(event: HookEvent, party: Party, hold: HoldUntil, register: Register): void {
  const background = event.background ? 'start' : 'end'
  forEachClaimedSync(register, isOfSession(party.sessionId), (claims) => {
    if (hold === 'turn' && !event.background) claims.changeSync((record) => leaveClaim(record, party))
    else claims.changeSync((record, observation) => forgetCalls(record, party, observation, background))
  })
}

export function startSession(event: HookEvent, party: Party, register: Register): void {
  // A compaction happens in the middle of a turn.
  const background = event.cause === 'compact' ? 'keep' : 'end'
  const isOwn = isOfSession(party.sessionId)
  const renaming = isRenaming(event)
  const isAffected = (claim: Claim): boolean => isOwn(claim) || (renaming && isBeingRenamed(claim))
  forEachClaimedSync(register, isAffected, (claims) => {
    claims.changeSync((record, observation, fence): Decision<unknown> =>
      renaming
        ? takeOverRenamed(record, party, observation, fence)
        : forgetCalls(record, party, observation, background),
    )
  })
}

export function endSession(event: HookEvent, party: Party, hold: HoldUntil, register: Register): void {
  const goesOn = hold === 'session' && isRenaming(event)
  forEachClaimedSync(register, isOfSession(party.sessionId), (claims) => {
    if (goesOn)
      claims.changeSync((record, observation, fence) => markRenaming(record, party, observation, fence))
    else claims.changeSync((record) => leaveClaim(record, party))
  })
}

export const isOfSession =
  (sessionId: string) =>
  ({ session_id }: Claim): boolean =>
    session_id === sessionId

const renamingCauses = new Set(['clear', 'resume'])

const isRenaming = ({ host, cause = '' }: HookEvent): boolean =>
  hosts[host].renamesSessions && renamingCauses.has(cause)
