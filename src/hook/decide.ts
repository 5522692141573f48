import { type Claim, type Claims, defaultTtlMs, type Holder, sameProcess } from '../lease/claim.ts'
import { acquire, type AcquireAnswer, type Decision, refresh, release, withCall } from '../lease/rules.ts'
import { remainingMs, stands, type Witness } from '../lease/staleness.ts'
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
  claims: Claims,
  request: CallRequest,
  witness: Witness,
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
  if (needs !== 'anything') return acquire(claims, { ...asked, paths: needs }, witness, nextFence)
  // Somebody else's few files do not keep a shell from running; all of them do.
  const whole = claims.claims.find(
    (claim) => claim !== own && claim.paths.includes('**') && stands(claim, witness),
  )
  if (whole !== undefined)
    return { answer: { granted: false, by: whole, retryAfterMs: remainingMs(whole, witness) } }
  if (own === undefined || !stands(own, witness)) return { answer: { granted: true } }
  return acquire(claims, { ...asked, paths: own.paths }, witness, nextFence)
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
  claims: Claims,
  { sessionId, agent, call }: Party & { call: string | undefined },
  witness: Witness,
  tried?: EndedCall,
): Decision<EndedCall> {
  const before = claims.claims.find((claim) => claim.session_id === sessionId)?.holders ?? []
  const ended = call ?? (tried === undefined ? own(before, agent)?.calls[0]?.id : tried.call)
  // The process that ends a call need not be the one that began it: some hosts have several.
  const holders = (all: readonly Holder[]): Holder[] =>
    all.map((holder) => ({ ...holder, calls: holder.calls.filter(({ id }) => id !== ended) }))
  const { next, answer } = refresh(claims, { sessionId, holders }, witness)
  return { next, answer: { ...answer, call: ended } }
}

const own = (holders: readonly Holder[], agent: Identity | null): Holder | undefined =>
  holders.find((holder) => agent !== null && sameProcess(holder, agent))

/** The call that stands for work in the background. */
const backgroundCall = 'background'

/** Nothing of before is still running, except what goes on in the background; the claim stays. */
export function forgetCalls(
  claims: Claims,
  { sessionId, agent }: Party,
  witness: Witness,
  background: 'keep' | 'start' | 'end',
): Decision<{ claim?: Claim }> {
  const holders = (before: readonly Holder[]): Holder[] => {
    const worker = own(before, agent) ?? before[0]
    return before.map((holder) => {
      const left = holder.calls.filter(({ id }) => id === backgroundCall && background !== 'end')
      const starts = background === 'start' && holder === worker
      return { ...holder, calls: starts ? withCall(left, backgroundCall, witness) : left }
    })
  }
  return refresh(claims, { sessionId, holders }, witness)
}

/** The turn or the session is over: the agent's processes leave the claim. One of another program's that it shares stays. */
export function leave(claims: Claims, { sessionId, agent }: Party): Decision<{ released: boolean }> {
  const holders = claims.claims.find((claim) => claim.session_id === sessionId)?.holders ?? []
  const ours = holders.filter(
    (holder) => holder.calls.length > 0 || (agent !== null && sameProcess(holder, agent)),
  )
  return release(claims, { sessionId, holders: holders.length === 0 ? undefined : ours })
}

/** The purpose of a claim whose session goes on under another name, in the same process. */
const movingOn = 'about to go on as a new session'

export const isMovingOn = ({ purpose }: Claim): boolean => purpose === movingOn

/** A session that its host has ended only to start another in its place. */
export function moveOn(claims: Claims, party: Party, witness: Witness, nextFence: number): Decision<unknown> {
  const { next = claims, answer } = forgetCalls(claims, party, witness, 'end')
  if (answer.claim === undefined) return { answer: undefined }
  const { paths, mode, ttl_ms: ttlMs } = answer.claim
  const request = { sessionId: party.sessionId, holder: party.agent, paths, mode, ttlMs, purpose: movingOn }
  return acquire(next, request, witness, nextFence)
}

/** Takes over the claim that the same process has held under another name, if its host has said that it would. */
export function takeUp(claims: Claims, party: Party, witness: Witness, nextFence: number): Decision<unknown> {
  const before = renamed(claims, party)
  if (before === undefined) return forgetCalls(claims, party, witness, 'end')
  const { paths, mode, ttl_ms: ttlMs, session_id: renamedFrom } = before
  const { sessionId, agent: holder } = party
  const purpose = 'a new session'
  return acquire(claims, { sessionId, holder, paths, mode, ttlMs, renamedFrom, purpose }, witness, nextFence)
}

function renamed({ claims }: Claims, { sessionId, agent }: Party): Claim | undefined {
  if (agent === null || claims.some((claim) => claim.session_id === sessionId)) return undefined
  return claims.find(
    (claim) => isMovingOn(claim) && claim.holders.some((holder) => sameProcess(holder, agent)),
  )
}
