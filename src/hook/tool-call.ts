import { forEachClaimedSync, WorkspaceClaims } from '../lease/index.ts'
import type { Scope } from './choices.ts'
import { beginCall, endCall, type EndedCall, type Party } from './decide.ts'
import { denial } from './refusal-message.ts'
import type { HookEvent, Tool } from './event.ts'
import { type PlaceOfCall, placeOfCall } from './call-target.ts'
import { purposeOf } from './purpose.ts'
import { redactRawEnvironmentSecrets } from '../secrets/index.ts'
import { isOfSession, type Surroundings } from './hook-context.ts'
import { pass, type Verdict } from './verdict.ts'

/** A tool is about to run: it gets what it needs, or hears who has it. */
export function beginToolCall(event: HookEvent, party: Party, scope: Scope, around: Surroundings): Verdict {
  const tool = changingTool(event)
  if (tool === undefined) return pass
  const { workspace, needs } = placeOfCall(event, tool, scope)
  const purpose = purposeOf(event, (text) => redactRawEnvironmentSecrets(text, around.env))
  const request = { ...party, needs, call: event.callId ?? newCallId(), purpose }
  const { answer, observation } = WorkspaceClaims.open(around.register, { workspace }).changeSync(
    (record, observation, fence) => beginCall(record, request, observation, fence),
  )
  return answer.granted ? pass : { block: true, reason: denial(workspace.path, answer.by, observation) }
}

/** It has run, well or badly. */
export function endToolCall(event: HookEvent, party: Party, scope: Scope, around: Surroundings): void {
  const tool = changingTool(event)
  if (tool === undefined) return
  const request = { ...party, call: event.callId }
  const settle = (claims: WorkspaceClaims): boolean =>
    claims.changeSync<EndedCall>((record, observation, _fence, tried) =>
      endCall(record, request, observation, tried),
    ).answer.claim !== undefined
  const here = placeNow(event, tool, scope)
  if (here !== undefined && settle(WorkspaceClaims.open(around.register, here))) return
  // The call has led the agent to another directory, or removed the one it was in.
  if (scope === 'workspace') forEachClaimedSync(around.register, isOfSession(party.sessionId), settle)
}

const changingTool = ({ tool }: HookEvent): Tool | undefined => (tool?.use === 'none' ? undefined : tool)

let calls = 0

/** For hosts that do not name their calls. */
const newCallId = (): string => `${Date.now().toString(36)}-${process.pid.toString(36)}-${calls++}`

function placeNow(event: HookEvent, tool: Tool, scope: Scope): PlaceOfCall | undefined {
  try {
    return placeOfCall(event, tool, scope)
  } catch {
    return undefined
  }
}
