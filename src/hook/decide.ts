import {
  type AcquireAnswer,
  backgroundOf,
  busyWork,
  type CallPolicy,
  type Claim,
  type ClaimHolder,
  type ClaimOrigin,
  type ClaimsRecord,
  areKin,
  decideAcquire,
  decideRefresh,
  decideRelease,
  type Decision,
  defaultTtlMs,
  type Descent,
  findAncestors,
  type HolderCall,
  isInForce,
  isSameProcess,
  type NewCall,
  type Observation,
  refuse,
  type ReleaseAnswer,
} from '../lease/index.ts'
import type { Identity } from '../base/process/liveness.ts'
import type { HoldUntil } from './options.ts'

// Decides how an event changes the claims of a workspace: pure functions on top of the rules of leases.

/** The session of an event, and its agent's process. */
export interface Party {
  sessionId: string
  agent: Identity | null
  /** The event named no session: its call belongs to the session that its agent's process holds here. */
  isUnnamed?: boolean
  /** The session that a subagent works for, if subagents are kept apart. */
  parent?: string
}

/** A tool call that is about to run. */
export interface CallRequest extends Party {
  /** The files it will change; `anything`: it may change any file, but claims none. */
  needs: readonly string[] | 'anything'
  call: NewCall
  policy: CallPolicy
  purpose: string
  /** Where the agent comes from: called only if another claim may be in the way. */
  descent: () => Descent
  /** Where it works: called only for a new claim. */
  origin?: () => ClaimOrigin
  /** The seconds since boot, if the claim is to get a pass. */
  passUptime?: number
}

/** The answer to a call; one that claims nothing is granted without a claim. */
export type CallAnswer = AcquireAnswer | { granted: true }

/** Acquires or refreshes the claim and counts the call; or names the claim in the way. */
export function beginCall(
  claims: ClaimsRecord,
  request: CallRequest,
  observation: Observation,
  nextFence: number,
): Decision<CallAnswer> {
  const { agent, parent, needs, call, policy, purpose, descent, origin, passUptime } = request
  const sessionId = sessionIn(claims, request)
  const renamedFrom = renamed(claims, request)?.session_id
  const own = claims.claims.find((claim) => claim.session_id === (renamedFrom ?? sessionId))
  const asked = {
    sessionId,
    holder: agent,
    mode: 'exclusive' as const,
    ttlMs: defaultTtlMs,
    call,
    policy,
    purpose,
    renamedFrom,
    parent,
    descent,
    origin,
    passUptime,
  }
  if (needs !== 'anything') return decideAcquire(claims, { ...asked, paths: needs }, observation, nextFence)
  // A shell may run beside claims on single files, but not beside a claim on the whole workspace.
  const holders = claims.claims.filter(
    (claim) => claim !== own && claim.paths.includes('**') && isInForce(claim, observation),
  )
  const ancestors = own?.ancestors ?? (holders.length > 0 ? findAncestors(claims.claims, asked) : undefined)
  const whole = holders.find((claim) => !areKin(claim, { session_id: sessionId, ancestors }))
  if (whole !== undefined) return refuse(claims, whole, observation)
  if (own === undefined || !isInForce(own, observation)) return { answer: { granted: true } }
  return decideAcquire(claims, { ...asked, paths: own.paths }, observation, nextFence)
}

/** The session id under which a party has its claim here. */
function sessionIn({ claims }: ClaimsRecord, { sessionId, agent, isUnnamed }: Party): string {
  const held = isUnnamed ? claims.filter(({ holders }) => own(holders, agent) !== undefined) : []
  return held.reduce<Claim | undefined>(laterOf, undefined)?.session_id ?? sessionId
}

const laterOf = (one: Claim | undefined, other: Claim): Claim =>
  one !== undefined && one.refreshed_at > other.refreshed_at ? one : other

/** Writes the first words of a new prompt into the claim of its session. */
export function notePrompt(
  record: ClaimsRecord,
  { sessionId }: Party,
  prompt: string | undefined,
): ClaimsRecord {
  const claims = record.claims.map((claim) =>
    claim.session_id === sessionId && claim.origin !== undefined
      ? { ...claim, origin: { ...claim.origin, prompt } }
      : claim,
  )
  return { ...record, claims }
}

export interface EndedCall {
  claim?: Claim
  /** The id of the call that ended; undefined if none was in flight. */
  call: string | undefined
}

/**
 * Refreshes the claim and ends a call: the named one, or the agent's oldest if its host gives calls no ids.
 * `tried` is the outcome of an attempt that lost a race: end the same call again, not the next oldest.
 */
export function endCall(
  claims: ClaimsRecord,
  { call, ...party }: Party & { call: string | undefined },
  observation: Observation,
  tried?: EndedCall,
): Decision<EndedCall> {
  const { agent } = party
  const sessionId = sessionIn(claims, party)
  const mine = claims.claims.find((claim) => claim.session_id === sessionId)
  const before = mine?.holders ?? []
  // A mark has ended the call: the record need not change.
  if (mine?.pass !== undefined && call !== undefined && !before.some(hasCall(call)))
    return { answer: { claim: mine, call } }
  const ended = call ?? (tried === undefined ? own(before, agent)?.calls[0]?.id : tried.call)
  // Another process than the one that began the call may end it: some hosts have several.
  const holders = (all: readonly ClaimHolder[]): ClaimHolder[] =>
    all.map((holder) => ({ ...holder, calls: holder.calls.filter(({ id }) => id !== ended) }))
  const { next, answer } = decideRefresh(claims, { sessionId, holders }, observation)
  return { next, answer: { ...answer, call: ended } }
}

const hasCall =
  (id: string) =>
  ({ calls }: ClaimHolder): boolean =>
    calls.some((call) => call.id === id)

const own = (holders: readonly ClaimHolder[], agent: Identity | null): ClaimHolder | undefined =>
  holders.find((holder) => agent !== null && isSameProcess(holder, agent))

/** Ends these calls of a session, or all; writes nothing if they have ended before. */
export function endCalls(
  claims: ClaimsRecord,
  { sessionId }: Party,
  observation: Observation,
  ids?: readonly string[],
): Decision<unknown> {
  const ends = ({ id }: HolderCall): boolean => ids?.includes(id) ?? true
  const before = claims.claims.find((claim) => claim.session_id === sessionId)?.holders ?? []
  if (!before.some(({ calls }) => calls.some(ends))) return { answer: undefined }
  const holders = (all: readonly ClaimHolder[]): ClaimHolder[] =>
    all.map((holder) => ({ ...holder, calls: holder.calls.filter((call) => !ends(call)) }))
  return decideRefresh(claims, { sessionId, holders }, observation)
}

/**
 * Notes that a call waits for its user: the named one, else the newest with this description, else the
 * newest. Hosts report a question without the id of the call.
 */
export function noteWaiting(
  claims: ClaimsRecord,
  { sessionId, agent }: Party,
  call: Partial<NewCall>,
  observation: Observation,
): Decision<unknown> {
  const mine = claims.claims.find((claim) => claim.session_id === sessionId)
  const calls = (own(mine?.holders ?? [], agent)?.calls ?? []).toReversed()
  const waiting =
    calls.find(({ id }) => id === call.id) ??
    calls.find(({ kind, name }) => kind === call.kind && name === call.name) ??
    calls[0]
  if (waiting === undefined || waiting.waiting_since !== undefined) return { answer: undefined }
  const waiting_since = Math.round(observation.now.wall)
  const holders = (all: readonly ClaimHolder[]): ClaimHolder[] =>
    all.map((holder) => ({
      ...holder,
      calls: holder.calls.map((each) => (each.id === waiting.id ? { ...each, waiting_since } : each)),
    }))
  return decideRefresh(claims, { sessionId, holders }, observation)
}

/**
 * Ends a turn: its calls have ended, and the claim is released, unless it is held for the session. Processes
 * that its calls have left running keep the claim for a while.
 */
export function endTurn(
  claims: ClaimsRecord,
  party: Party,
  hold: HoldUntil,
  observation: Observation,
): Decision<unknown> {
  const { sessionId } = party
  const mine = claims.claims.find((claim) => claim.session_id === sessionId)
  if (mine === undefined) return { answer: undefined }
  const holders = (all: readonly ClaimHolder[]): ClaimHolder[] =>
    all.map((holder) => ({ ...holder, calls: [] }))
  const background = backgroundOf(mine, observation)
  const left: Claim = { ...mine, holders: holders(mine.holders), background }
  const released = leaveClaim(claims, party)
  if (hold === 'turn' && busyWork(left, observation) === undefined) return released
  // Another program that shares the claim keeps it in force.
  const isOver = hold === 'turn' && released.answer.claim === undefined
  const endedTurn = { background, ...(isOver && { turn_ended: true as const }) }
  return decideRefresh(claims, { sessionId, holders, endedTurn }, observation)
}

/** Takes the agent's processes out of the claim. Another program's process that shares the claim stays. */
export function leaveClaim(claims: ClaimsRecord, { sessionId, agent }: Party): Decision<ReleaseAnswer> {
  const holders = claims.claims.find((claim) => claim.session_id === sessionId)?.holders ?? []
  const ours = holders.filter(
    (holder) => holder.calls.length > 0 || (agent !== null && isSameProcess(holder, agent)),
  )
  return decideRelease(claims, { sessionId, holders: holders.length === 0 ? undefined : ours })
}

/** The purpose of a claim whose session is about to continue under another id, in the same process. */
const renamingPurpose = 'about to go on as a new session'

export const isBeingRenamed = ({ purpose }: Claim): boolean => purpose === renamingPurpose

/** Marks the claim of a session that its host ends only to start another in its place. */
export function markRenaming(
  claims: ClaimsRecord,
  party: Party,
  observation: Observation,
  nextFence: number,
): Decision<unknown> {
  const { next = claims } = endCalls(claims, party, observation)
  const mine = next.claims.find((claim) => claim.session_id === party.sessionId)
  if (mine === undefined) return { answer: undefined }
  const { paths, mode, ttl_ms: ttlMs } = mine
  const request = {
    sessionId: party.sessionId,
    holder: party.agent,
    paths,
    mode,
    ttlMs,
    purpose: renamingPurpose,
  }
  return decideAcquire(next, request, observation, nextFence)
}

/** Takes over a marked claim that the same process holds under another id. */
export function takeOverRenamed(
  claims: ClaimsRecord,
  party: Party,
  observation: Observation,
  nextFence: number,
): Decision<unknown> {
  const before = renamed(claims, party)
  if (before === undefined) return endCalls(claims, party, observation)
  const { paths, mode, ttl_ms: ttlMs, session_id: renamedFrom } = before
  const { sessionId, agent: holder } = party
  const purpose = 'a new session'
  return decideAcquire(
    claims,
    { sessionId, holder, paths, mode, ttlMs, renamedFrom, purpose },
    observation,
    nextFence,
  )
}

function renamed({ claims }: ClaimsRecord, { sessionId, agent }: Party): Claim | undefined {
  if (agent === null || claims.some((claim) => claim.session_id === sessionId)) return undefined
  return claims.find(
    (claim) => isBeingRenamed(claim) && claim.holders.some((holder) => isSameProcess(holder, agent)),
  )
}
