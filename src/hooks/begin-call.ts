import { join } from 'node:path'
import { systemClock } from '../base/process/clock.ts'
import type { Identity } from '../base/process/liveness.ts'
import {
  type AcquireRequest,
  type Claim,
  type ClaimsView,
  covers,
  isOutside,
  isSameProcess,
  type LeaseStore,
  msUntil,
  partyIn,
  readDescent,
  type Refused,
  WorkspaceClaims,
} from '../lease/index.ts'
import type { ChangedFiles } from '../points/index.ts'
import { type CallTarget, callTargets } from './call-target.ts'
import type { HookEvent, Tool } from './event.ts'
import { hosts } from './hosts/hosts.ts'
import type { HookChoices } from './options.ts'
import { passOf, writePasses } from './pass.ts'
import { originOf, type Party, transcriptNow } from './session-party.ts'
import { allowed, callRefusal, handOverText, type Verdict } from './verdict.ts'

/** The process and environment in which an event happens. */
export interface HookContext {
  store: LeaseStore
  /** The agent's process: the claim lives as long as it does. */
  agent: Identity | null
  env: NodeJS.ProcessEnv
  /** The time of the event, in clock ticks since boot; absent where processes have no such start time. */
  ticks?: number
  /** `stint-hook.sh` has started this hook: a claim gets a pass, with which the next calls need no Node. */
  usesPasses?: boolean
  /** Called when a wait begins; the signal that it returns ends the wait. */
  onWait?: () => AbortSignal
  /** Called when no wait follows. */
  endWait?: () => void
  /** Takes the restore points of a turn; absent if the user wants none. */
  points?: TurnPoints
}

/** Restore points, as far as a hook knows them. */
export interface TurnPoints {
  /** Takes a point before the first call of a turn; returns the files that others have changed since. */
  begin(turn: Turn): Promise<ChangedFiles>
  end(turn: Turn): Promise<void>
  /** Starts a sweep of old points in the background, when a session ends. */
  sweep(turn: Turn): void
  /** The files of a session that its user has taken back since it was last asked. */
  undone(sessionId: string): string[]
}

/** A turn of a session in a repository. */
export interface Turn {
  root: string
  claim: Claim
  /** The claims of sessions whose end was not seen. */
  tookOver?: readonly Claim[]
}

/** The choices of the user that matter for an event. */
export type EventChoices = Pick<Required<HookChoices>, 'scope' | 'hold' | 'waitMs'> &
  Pick<HookChoices, 'prompts' | 'subagents'>

/** An event with its party, the user's choices, and its surroundings. */
export interface Happening {
  event: HookEvent
  party: Party
  choices: EventChoices
  context: HookContext
}

/** A call that is about to run. */
interface Call extends Happening {
  /** When its wait ends, in milliseconds of the monotonic clock. */
  deadline: number
}

/** What a call got in a workspace; without a claim, it needs none. */
interface Grant extends ClaimsView {
  claims: WorkspaceClaims
  claim?: Claim
  /** The session did not hold it before. */
  isNew?: boolean
  tookOver?: readonly Claim[]
}

/** A claim of another session is in the way. */
interface Refusal extends ClaimsView {
  claims: WorkspaceClaims
  refused: Refused
}

/**
 * Claims all workspaces that a call needs, in the order of their keys, or refuses it with the name of the
 * first holder in the way. What a refused call was granted stays the session's until its turn ends: another
 * call of the session may rely on it already.
 */
export async function beginCall(happening: Happening, tool: Tool): Promise<Verdict> {
  const { event, choices, context } = happening
  const call = { ...happening, deadline: systemClock.mono() + choices.waitMs }
  const grants: Grant[] = []
  for (const target of callTargets(event, tool, choices.scope, context.env)) {
    const claims = WorkspaceClaims.open(context.store, { workspace: target.workspace })
    const outcome = target.claimsNothing
      ? await checkUnclaimed(call, claims)
      : await claimTarget(call, target, claims)
    if ('refused' in outcome) {
      context.endWait?.()
      await greet(call, grants)
      return refuse(call, outcome)
    }
    grants.push(outcome)
  }
  context.endWait?.()
  const verdict = await greet(call, grants)
  // After the restore points: with a pass, the script would let the next call run before they are complete.
  addPasses(call, grants)
  return verdict
}

const leftMs = ({ deadline }: Call): number => Math.max(0, deadline - systemClock.mono())

async function claimTarget(
  call: Call,
  { paths }: CallTarget,
  claims: WorkspaceClaims,
): Promise<Grant | Refusal> {
  const { onWait } = call.context
  const request = await requestFor(call, paths, claims)
  const view = await claims.read()
  const standing = findStanding(view, request)
  if (standing !== undefined) return { claims, ...view, claim: standing }
  const { answer, ...after } = await claims.tryAcquire(request, { waitMs: leftMs(call), onWait })
  if (!answer.granted) return { claims, ...after, refused: answer }
  const { claim, isNew, tookOver } = answer
  return { claims, ...after, claim, isNew, tookOver }
}

/**
 * The party's own claim, if it covers the paths and needs no renewal yet. A change of the record would end
 * the pass of another session that has claimed other paths.
 */
function findStanding({ record, observation }: ClaimsView, request: AcquireRequest): Claim | undefined {
  const { holder, paths, forMs } = request
  const sessionId = partyIn(record, request, observation)
  return record.claims.find(
    (claim) =>
      claim.session_id === sessionId &&
      claim.ends === undefined &&
      paths.every((path) => claim.paths.some((own) => covers(own, path))) &&
      (holder === null || claim.holders.some((process) => isSameProcess(process, holder))) &&
      msUntil(claim, claim.until, observation.now) >= forMs / 2,
  )
}

async function requestFor(
  { event, party, choices, context }: Call,
  paths: readonly string[],
  claims: WorkspaceClaims,
): Promise<AcquireRequest> {
  const { env, ticks } = context
  const { agent, parent } = party
  const { sharesProcess, patienceMs } = hosts[event.host]
  return {
    sessionId: party.isUnnamed ? await sessionIn(claims, party) : party.sessionId,
    holder: agent,
    paths,
    mode: 'exclusive',
    forMs: patienceMs,
    ticks,
    parent,
    isOneProcess: sharesProcess !== true,
    descent: () => readDescent(agent?.pid ?? process.pid, env),
    origin: () => originOf(event, party, choices, env),
    // An interruption counts only if it comes after this request.
    changes: { transcript: transcriptNow(event, party, env) },
  }
}

/** The session that the agent's process holds a claim for, as an event that names none is of that one. */
async function sessionIn(claims: WorkspaceClaims, { sessionId, agent }: Party): Promise<string> {
  const { record } = await claims.read()
  const isOurs = ({ holders }: Claim): boolean =>
    agent !== null && holders.some((process) => isSameProcess(process, agent))
  return record.claims.findLast(isOurs)?.session_id ?? sessionId
}

/**
 * Lets a command run that claims nothing: it may work beside claims on single files, but not beside a claim
 * on all of the workspace. It asks for `.git`, which no session claims by itself.
 */
async function checkUnclaimed(call: Call, claims: WorkspaceClaims): Promise<Grant | Refusal> {
  const { path = '' } = claims.target
  const unclaimed = isOutside(claims) ? join(path, '.git') : '.git'
  const request = await requestFor(call, [unclaimed], claims)
  let blocker = await claims.findBlocker(request)
  if (blocker !== undefined && leftMs(call) > 0) {
    const signal = call.context.onWait?.()
    // A wait that fails is one that was too short.
    await claims.untilFree(request, { waitMs: leftMs(call), signal }).catch(() => signal?.throwIfAborted())
    blocker = await claims.findBlocker(request)
  }
  if (blocker === undefined) return { claims, ...(await claims.read()) }
  await claims.activity.noteBlocked('refusal', request, blocker.refused.by, blocker.observation.now)
  return { claims, ...blocker }
}

function refuse({ event, party, choices, deadline }: Call, { refused, observation }: Refusal): Verdict {
  const waitedMs = choices.waitMs === 0 ? 0 : choices.waitMs - Math.max(0, deadline - systemClock.mono())
  const { yieldHint } = hosts[event.host]
  const reason = callRefusal(refused.by, observation, { waitedMs, parent: party.parent, yieldHint })
  return { block: true, reason }
}

/** Lets the script allow the next calls; it knows the session only by its own id, and its process. */
function addPasses({ event, party, context }: Call, grants: readonly Grant[]): void {
  const { agent, env, usesPasses } = context
  if (!usesPasses || agent === null || party.sessionId !== event.sessionId) return
  const { patienceMs } = hosts[event.host]
  const passes = grants.flatMap(({ claims, claim, epoch }) =>
    claim?.session_id === party.sessionId
      ? (passOf(claims.target, claim, { epoch, agent, patienceMs }) ?? [])
      : [],
  )
  writePasses(party.sessionId, passes, env)
}

/** Takes the restore points of a turn that begins, and tells the model who was here since. */
async function greet({ event, context }: Call, grants: readonly Grant[]): Promise<Verdict> {
  const texts: string[] = []
  for (const { claims, claim, isNew, tookOver, observation } of grants) {
    if (claim === undefined || !isNew) continue
    const turn = turnIn(claims, claim)
    const changed = turn && (await context.points?.begin({ ...turn, tookOver }))
    // The history is read only if the host can tell the model.
    if (hosts[event.host].context === undefined) continue
    texts.push(handOverText(await claims.activity.endedBefore(claim), observation, changed))
  }
  const text = texts.filter(Boolean).join('\n')
  return text === '' ? allowed : { block: false, context: text }
}

/** The turn of a claim that gets restore points: the work of a nested party counts for its parent. */
export function turnIn({ target }: WorkspaceClaims, claim: Claim): Turn | undefined {
  const isOwn = claim.ancestors === undefined && claim.mode === 'exclusive'
  return isOwn && target.path !== undefined && !isOutside(target) ? { root: target.path, claim } : undefined
}
