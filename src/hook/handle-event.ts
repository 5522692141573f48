import { isSessionId } from '../base/text/id.ts'
import { md5 } from '../base/text/md5.ts'
import type { Identity } from '../base/process/liveness.ts'
import { readOrigin } from '../base/process/origin.ts'
import { uptimeSeconds } from '../base/process/platform.ts'
import {
  beginByMark,
  type CallPolicy,
  type Claimant,
  type ClaimOrigin,
  type Decide,
  type Decided,
  defaultCallPolicy,
  firstWords,
  forEachClaimedSync,
  forgetPasses,
  type MarkedCall,
  noteRefusedCall,
  type PassAddition,
  readDescent,
  readPrompt,
  type Register,
  removeMarks,
  renewPasses,
  wholeWorkspace,
  WorkspaceClaims,
} from '../lease/index.ts'
import { onlyReads } from '../reading/index.ts'
import { registerEnvironmentSecrets } from '../secrets/index.ts'
import {
  addsWorktreeElsewhere,
  type CallTarget,
  describeCall,
  findCallTarget,
  passAddition,
  purposeOf,
} from './call-target.ts'
import {
  beginCall,
  type CallAnswer,
  type CallRequest,
  endCall,
  type EndedCall,
  type Party,
} from './decide.ts'
import type { HookEvent, Tool } from './event.ts'
import type { HostName } from './host.ts'
import { hosts } from './hosts.ts'
import type { HookChoices, Scope } from './options.ts'
import {
  endOpenCalls,
  endSession,
  endSubagent,
  handlePrompt,
  handleStop,
  handleWaiting,
  isOfSession,
  isRenaming,
  startSession,
} from './session-events.ts'
import { callRefusal, handOverText, pass, sessionText, type Verdict } from './verdict.ts'

/** The process and environment in which an event happens. */
export interface HookContext {
  register: Register
  /** The agent's process: the claim lives as long as it does. */
  agent: Identity | null
  env: NodeJS.ProcessEnv
  /** The time of the event, in clock ticks since boot; absent where processes have no such start time. */
  ticks?: number
  /** `stint-hook.sh` has started this hook: a claim gets a pass, with which the next calls need no Node. */
  usesPasses?: boolean
}

/** The choices of the user that matter for an event. */
type EventChoices = Pick<Required<HookChoices>, 'scope' | 'hold'> &
  Pick<HookChoices, 'waitMs' | 'backgroundMs' | 'promptHoldMs' | 'handover' | 'prompts' | 'subagents'>

/** Events that are about a session only if its main thread sends them. */
const ofMainThread = new Set<HookEvent['kind']>(['prompt', 'stop', 'start', 'end'])

/** Changes the claims as an event requires. Only a tool call that is about to run can be refused. */
export function handleEvent(event: HookEvent, choices: EventChoices, context: HookContext): Verdict {
  if (context.env.STINT_BYPASS === '1') return pass
  const { agent, register } = context
  const party = partyOf(event, choices, agent)
  const verdict = changeClaims(event, party, choices, context)
  if (event.kind !== 'pre' && hasPasses(event, party, context)) {
    if (event.kind === 'stop' && event.agentId === undefined) removeMarks(register, party.sessionId)
    if (event.kind === 'end') forgetPasses(register, party)
    else renewPasses(register, party)
  }
  return verdict
}

/** Whether the script can find the passes of this party: under the id of the event, of a known process. */
function hasPasses(
  { sessionId }: HookEvent,
  party: Party,
  { usesPasses }: HookContext,
): party is Party & { agent: Identity } {
  return usesPasses === true && party.agent !== null && party.sessionId === sessionId
}

function changeClaims(event: HookEvent, party: Party, choices: EventChoices, context: HookContext): Verdict {
  const { register } = context
  const { hold } = choices
  // Subagents and teammates share a session: their prompts, starts and ends are not those of its main thread.
  if (event.subagent && ofMainThread.has(event.kind)) {
    if (event.kind === 'stop' && party.parent !== undefined) endSubagent(party, register)
    return pass
  }
  if (event.kind === 'pre') return beginToolCall(event, party, choices, context)
  let verdict = pass
  if (event.kind === 'post') endToolCall(event, party, choices, context)
  else if (event.kind === 'batch') endOpenCalls(party, register, event.batch)
  else if (event.kind === 'waiting') awaitUser(event, party, context)
  else if (event.kind === 'prompt')
    handlePrompt(
      party,
      wordsOf(event, choices, context),
      () => originOf(event, party, choices, context.env),
      context,
    )
  if (event.kind === 'stop' || (event.interrupted && !event.subagent)) handleStop(party, hold, register)
  else if (event.kind === 'start') {
    startSession(event, party, register)
    if (choices.handover !== false && isAmbiguous(event))
      verdict = { block: false, context: sessionText(party) }
  } else if (event.kind === 'end') endSession(event, party, hold, context)
  return verdict
}

/** Whether the process of the agent alone does not tell this session from others, as for its MCP server. */
const isAmbiguous = (event: HookEvent): boolean =>
  hosts[event.host].sharesProcess === true || isRenaming(event)

/** Waits while another session holds what a refused call needs, then decides again. */
export async function retryToolCall(
  event: HookEvent,
  choices: EventChoices,
  context: HookContext,
  signal?: AbortSignal,
): Promise<Verdict> {
  const call = prepareCall(event, partyOf(event, choices, context.agent), choices, context)
  if (call === undefined) return pass
  const { waitMs } = choices
  const decided = await call.claims.claim(call.decide, call.claimant, { waitMs, signal })
  return judgeCall(event, call, decided, { choices, context, waitedMs: waitMs })
}

/** The session of an event, or its subagent if these are kept apart. */
function partyOf(
  { sessionId, host, agentId }: HookEvent,
  choices: EventChoices,
  agent: Identity | null,
): Party {
  const session = sessionName(sessionId, host, agent)
  if (agentId === undefined || choices.subagents !== 'apart')
    return { sessionId: session, agent, isUnnamed: sessionId === undefined }
  return { sessionId: sessionName(`${session}.${agentId}`, host, agent), agent, parent: session }
}

/** The session id of a claim: the host's own id, if it is a valid one. */
export function sessionName(given: string | undefined, host: HostName, agent: Identity | null): string {
  if (given === undefined)
    return agent === null ? `${host}-unknown` : `${host}-${agent.pid}-${agent.started ?? 0}`
  if (isSessionId(given)) return given
  // The hash keeps two ids distinct that differ only in replaced characters.
  return `${host}-${given.replaceAll(/[^\w.-]/g, '_').slice(0, 60)}-${md5(given).slice(0, 12)}`
}

/** The first words of a prompt, without secrets; undefined if the user wants them kept out of claims. */
const wordsOf = (
  { prompt }: HookEvent,
  { prompts }: EventChoices,
  { env }: HookContext,
): string | undefined =>
  prompt === undefined || prompts === false
    ? undefined
    : firstWords(registerEnvironmentSecrets(env).gate.text(prompt))

/** Claims what a tool call needs, or refuses it with the name of the holder. */
function beginToolCall(event: HookEvent, party: Party, choices: EventChoices, context: HookContext): Verdict {
  const call = prepareCall(event, party, choices, context)
  if (call === undefined) return pass
  if (call.marked !== undefined && beginByMark(call.claims, call.marked)) {
    renewPasses(context.register, call.marked, call.added)
    return pass
  }
  const noteAs = choices.waitMs ? 'wait' : 'refusal'
  const decided = call.claims.claimSync(call.decide, call.claimant, { noteAs })
  return judgeCall(event, call, decided, { choices, context })
}

/** A call that needs a claim: on which workspace, for which party, and how it is decided. */
interface PreparedCall {
  workspace: string
  party: Party
  call: string
  /** Set if it may begin without a change of the record. */
  marked?: MarkedCall
  added?: PassAddition
  claims: WorkspaceClaims
  claimant: Claimant
  decide: Decide<CallAnswer>
}

/** Undefined if the call changes no file. */
function prepareCall(
  event: HookEvent,
  party: Party,
  choices: EventChoices,
  context: HookContext,
): PreparedCall | undefined {
  const tool = changingTool(event)
  if (tool === undefined) return undefined
  const { workspace, needs } = findCallTarget(event, tool, choices.scope)
  const request = callRequest(event, tool, needs, party, choices, context)
  return {
    workspace: workspace.path,
    party,
    call: request.call.id,
    ...(hasPasses(event, party, context) &&
      request.passUptime !== undefined && {
        added: passAddition(event, tool, workspace, choices.scope),
        marked: {
          ...party,
          id: request.call.id,
          kind: request.call.kind ?? 'command',
          needs: needs === 'anything' ? [] : needs,
          uptime: request.passUptime,
        },
      }),
    claims: WorkspaceClaims.open(context.register, { workspace }),
    claimant: claimantOf(request),
    decide: (record, observation, fence) => beginCall(record, request, observation, fence),
  }
}

/** The verdict on a call whose claim was granted or refused, after a wait of `waitedMs` milliseconds. */
function judgeCall(
  event: HookEvent,
  { workspace, claims, claimant, party, call, added }: PreparedCall,
  decided: Decided<CallAnswer>,
  { choices, context, waitedMs = 0 }: { choices: EventChoices; context: HookContext; waitedMs?: number },
): Verdict {
  const { answer, before, observation } = decided
  const isMarked = hasPasses(event, party, context)
  if (isMarked && answer.granted) renewPasses(claims.register, party, added)
  if (!answer.granted) {
    // A call that is going to wait may still be granted: its end must not be noted.
    const isFinal = waitedMs > 0 || !choices.waitMs
    if (isMarked && isFinal) noteRefusedCall(claims.register, party.sessionId, call)
    const met = { waitedMs, waiters: claims.waitersSync(decided), parent: claimant.parent }
    return { block: true, reason: callRefusal(workspace, answer.by, observation, met) }
  }
  if (before === undefined) return pass
  // The history is read only for a new grant, and only if the host can tell the model.
  if (choices.handover === false || hosts[event.host].context === undefined || !('claim' in answer))
    return pass
  const { claim } = answer
  const had = before.claims.find(({ session_id }) => session_id === claim.session_id)
  if (had?.fence === claim.fence) return pass
  const ended = claims.activity.endedBeforeSync(claim, before)
  return ended.length === 0 ? pass : { block: false, context: handOverText(ended, observation) }
}

function callRequest(
  event: HookEvent,
  tool: Tool,
  needs: CallTarget['needs'],
  party: Party,
  choices: EventChoices,
  context: HookContext,
): CallRequest {
  const { env, ticks } = context
  const { gate } = registerEnvironmentSecrets(env)
  const call = { id: event.callId ?? newCallId(), ...describeCall(tool, gate), ...(ticks && { ticks }) }
  return {
    ...party,
    needs,
    call,
    policy: policyOf(event, party, choices),
    purpose: purposeOf(event, gate),
    descent: () => readDescent(party.agent?.pid ?? process.pid, env),
    origin: () => originOf(event, party, choices, env),
    ...(hasPasses(event, party, context) && { passUptime: uptimeSeconds() }),
  }
}

/** The party of a call. */
const claimantOf = ({
  sessionId,
  agent,
  parent,
  needs,
  purpose,
  descent,
  origin,
}: CallRequest): Claimant => ({
  session_id: sessionId,
  pid: agent?.pid ?? null,
  paths: needs === 'anything' ? wholeWorkspace : needs,
  mode: needs === 'anything' ? undefined : ('exclusive' as const),
  purpose,
  parent,
  descent,
  origin,
})

/** Where the session works, and on what. */
function originOf(
  { host, cwd }: HookEvent,
  { sessionId, agent, parent }: Party,
  { prompts }: EventChoices,
  env: NodeJS.ProcessEnv,
): ClaimOrigin {
  const prompt = prompts === false ? undefined : readPrompt(parent ?? sessionId, env)
  return {
    agent: hosts[host].title,
    ...readOrigin(agent?.pid ?? process.pid, env, cwd),
    ...(prompt && { prompt }),
  }
}

function policyOf(
  { host, sessionId }: HookEvent,
  party: Party,
  { backgroundMs, promptHoldMs }: EventChoices,
): CallPolicy {
  const { sessionVariable, sharesProcess } = hosts[host]
  return {
    prompt_hold_ms: promptHoldMs ?? defaultCallPolicy.prompt_hold_ms,
    background_ms: backgroundMs ?? defaultCallPolicy.background_ms,
    ...(sessionVariable && sessionId && { mark: `${sessionVariable}=${party.parent ?? party.sessionId}` }),
    ...(sharesProcess && { shared_process: true }),
  }
}

/** Notes which call waits. An event about a command that only reads is about none that is counted. */
function awaitUser(event: HookEvent, party: Party, { register, env }: HookContext): void {
  const tool = changingTool(event)
  if (event.tool !== undefined && tool === undefined) return
  const call = tool && describeCall(tool, registerEnvironmentSecrets(env).gate)
  handleWaiting({ id: event.callId, ...call }, party, register)
}

/** Ends a call, and renews the claim of its session. */
function endToolCall(
  event: HookEvent,
  party: Party,
  { scope }: EventChoices,
  { register }: HookContext,
): void {
  const tool = changingTool(event)
  if (tool === undefined) return
  const ended = { ...party, call: event.callId }
  const end = (claims: WorkspaceClaims): boolean =>
    claims.changeSync<EndedCall>((record, observation, _fence, tried) =>
      endCall(record, ended, observation, tried),
    ).answer.claim !== undefined
  const here = tryCallTarget(event, tool, scope)
  if (here !== undefined && end(WorkspaceClaims.open(register, here))) return
  // The call changed the agent's directory, or removed the one it ran in: find the claim by its session.
  if (scope === 'workspace')
    forEachClaimedSync(register, isOfSession(party.sessionId), (others) => void end(others))
}

/** The tool of an event; undefined if it changes no file. */
function changingTool(event: HookEvent): Tool | undefined {
  const { tool } = event
  return tool === undefined || tool.use === 'none' || isHarmlessCommand(event, tool) ? undefined : tool
}

const isHarmlessCommand = ({ host, cwd }: HookEvent, { name, input: { command } }: Tool): boolean =>
  hosts[host].posixShells.includes(name) &&
  typeof command === 'string' &&
  !(hosts[host].typesCommands && /[#!^\t]/.test(command)) &&
  (onlyReads(command) || addsWorktreeElsewhere(command, cwd))

let calls = 0

/** An id for a call of a host that gives none. */
const newCallId = (): string => `${Date.now().toString(36)}-${process.pid.toString(36)}-${calls++}`

function tryCallTarget(event: HookEvent, tool: Tool, scope: Scope): CallTarget | undefined {
  try {
    return findCallTarget(event, tool, scope)
  } catch {
    return undefined
  }
}
