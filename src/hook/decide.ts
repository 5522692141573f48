import {
  type AcquireAnswer,
  type Claim,
  type ClaimHolder,
  type ClaimsRecord,
  decideAcquire,
  decideRefresh,
  decideRelease,
  type Decision,
  defaultTtlMs,
  isInForce,
  type Observation,
  remainingMs,
  sameProcess,
  withCall,
} from '../lease/index.ts'
import type { Identity } from '../base/process/liveness.ts'

/**
 * What an event does to a workspace's claims: pure functions over (claims, who asks, the time and which processes live), on top of the rules of leases.
 */

/** Who an event is about. */
export interface Party {
  sessionId: string
  agent: Identity | null
}

/** A tool call that is about to happen. */
export interface CallRequest extends Party {
  /** Files it will change; `anything`: it can change what it likes, but claims nothing. */
  needs: readonly string[] | 'anything'
  call: string
  purpose: string
}

/** Acquires or refreshes, and counts the call; or says who is in the way. */
export function beginCall(
  claims: ClaimsRecord,
  request: CallRequest,
  observation: Observation,
  nextFence: number,
): Decision<AcquireAnswer | { granted: true }> {
  const { sessionId, agent, needs, call, purpose } = request
  const renamedFrom = renamed(claims, request)?.session_id
  const own = claims.claims.find((claim) => claim.session_id === (renamedFrom ?? sessionId))
  const asked = {
    sessionId,
    holder: agent,
    mode: 'exclusive' as const,
    ttlMs: defaultTtlMs,
    call,
    purpose,
    renamedFrom,
  }
  if (needs !== 'anything') return decideAcquire(claims, { ...asked, paths: needs }, observation, nextFence)
  // Somebody else's few files do not keep a shell from running; all of them do.
  const whole = claims.claims.find(
    (claim) => claim !== own && claim.paths.includes('**') && isInForce(claim, observation),
  )
  if (whole !== undefined)
    return { answer: { granted: false, by: whole, retryAfterMs: remainingMs(whole, observation) } }
  if (own === undefined || !isInForce(own, observation)) return { answer: { granted: true } }
  return decideAcquire(claims, { ...asked, paths: own.paths }, observation, nextFence)
}

export interface EndedCall {
  claim?: Claim
  /** Which call has ended; undefined if none was in flight. */
  call: string | undefined
}

/**
 * Refreshes the claim and ends a call: the one that is named, or the agent's oldest, if its host gives calls no names. `tried` is what an earlier try
 * has ended: that one, not the next oldest, is ended again.
 */
export function endCall(
  claims: ClaimsRecord,
  { sessionId, agent, call }: Party & { call: string | undefined },
  observation: Observation,
  tried?: EndedCall,
): Decision<EndedCall> {
  const before = claims.claims.find((claim) => claim.session_id === sessionId)?.holders ?? []
  const ended = call ?? (tried === undefined ? own(before, agent)?.calls[0]?.id : tried.call)
  // The process that ends a call need not be the one that began it: some hosts have several.
  const holders = (all: readonly ClaimHolder[]): ClaimHolder[] =>
    all.map((holder) => ({ ...holder, calls: holder.calls.filter(({ id }) => id !== ended) }))
  const { next, answer } = decideRefresh(claims, { sessionId, holders }, observation)
  return { next, answer: { ...answer, call: ended } }
}

const own = (holders: readonly ClaimHolder[], agent: Identity | null): ClaimHolder | undefined =>
  holders.find((holder) => agent !== null && sameProcess(holder, agent))

/** The call that stands for work in the background. */
const backgroundCall = 'background'

/** Nothing of before is still running, except what goes on in the background; the claim stays. */
export function forgetCalls(
  claims: ClaimsRecord,
  { sessionId, agent }: Party,
  observation: Observation,
  background: 'keep' | 'start' | 'end',
): Decision<{ claim?: Claim }> {
  const holders = (before: readonly ClaimHolder[]): ClaimHolder[] => {
    const worker = own(before, agent) ?? before[0]
    return before.map((holder) => {
      const left = holder.calls.filter(({ id }) => id === backgroundCall && background !== 'end')
      const starts = background === 'start' && holder === worker
      return { ...holder, calls: starts ? withCall(left, backgroundCall, observation) : left }
    })
  }
  return decideRefresh(claims, { sessionId, holders }, observation)
}

/** The turn or the session is over: the agent's processes leave the claim. One of another program's that it shares stays. */
export function leave(claims: ClaimsRecord, { sessionId, agent }: Party): Decision<{ released: boolean }> {
  const holders = claims.claims.find((claim) => claim.session_id === sessionId)?.holders ?? []
  const ours = holders.filter(
    (holder) => holder.calls.length > 0 || (agent !== null && sameProcess(holder, agent)),
  )
  return decideRelease(claims, { sessionId, holders: holders.length === 0 ? undefined : ours })
}

/** The purpose of a claim whose session goes on under another name, in the same process. */
const movingOn = 'about to go on as a new session'

export const isMovingOn = ({ purpose }: Claim): boolean => purpose === movingOn

/** A session that its host has ended only to start another in its place. */
export function moveOn(
  claims: ClaimsRecord,
  party: Party,
  observation: Observation,
  nextFence: number,
): Decision<unknown> {
  const { next = claims, answer } = forgetCalls(claims, party, observation, 'end')
  if (answer.claim === undefined) return { answer: undefined }
  const { paths, mode, ttl_ms: ttlMs } = answer.claim
  const request = { sessionId: party.sessionId, holder: party.agent, paths, mode, ttlMs, purpose: movingOn }
  return decideAcquire(next, request, observation, nextFence)
}

/** Takes over the claim that the same process has held under another name, if its host has said that it would. */
export function takeUp(
  claims: ClaimsRecord,
  party: Party,
  observation: Observation,
  nextFence: number,
): Decision<unknown> {
  const before = renamed(claims, party)
  if (before === undefined) return forgetCalls(claims, party, observation, 'end')
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
    (claim) => isMovingOn(claim) && claim.holders.some((holder) => sameProcess(holder, agent)),
  )
}
