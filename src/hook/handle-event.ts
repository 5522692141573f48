import type { HookChoices } from './choices.ts'
import type { HookEvent } from './event.ts'
import { endSession, endTurn, hearPrompt, startSession } from './session-events.ts'
import { sessionName } from './session-name.ts'
import type { Surroundings } from './hook-context.ts'
import { beginToolCall, endToolCall } from './tool-call.ts'
import { pass, type Verdict } from './verdict.ts'

export type Choices = Pick<Required<HookChoices>, 'scope' | 'hold'>

/** Does to the claims what an event asks for. Only a tool call that is about to happen can be refused. */
export function handleEvent(event: HookEvent, { scope, hold }: Choices, around: Surroundings): Verdict {
  if (around.env.STINT_BYPASS === '1') return pass
  const { agent } = around
  const party = { sessionId: sessionName(event.sessionId, event.host, agent), agent }
  if (event.kind === 'pre') return beginToolCall(event, party, scope, around)
  if (event.kind === 'post') endToolCall(event, party, scope, around)
  else if (event.kind === 'prompt') hearPrompt(party, around)
  else if (event.kind === 'stop') endTurn(event, party, hold, around)
  else if (event.kind === 'start') startSession(event, party, around)
  else if (event.kind === 'end') endSession(event, party, hold, around)
  return pass
}
