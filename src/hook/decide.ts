import { type Claim, type Claims, defaultTtlMs, sameProcess } from '../lease/claim.ts'
import { acquire, type AcquireAnswer, type Decision, refresh, release } from '../lease/rules.ts'
import { remainingMs, stands, type Witness } from '../lease/staleness.ts'
import type { Identity } from '../primitives/liveness.ts'

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

/** Refreshes, and takes the call from the count: by its name, or, where the host gives none, the oldest. */
export function endCall(
  claims: Claims,
  { sessionId, agent, call }: Party & { call: string | undefined },
  witness: Witness,
): Decision<{ claim?: Claim }> {
  // The process that ends it need not be the one that began it: some hosts have several.
  const holders = claims.claims.find((claim) => claim.session_id === sessionId)?.holders ?? []
  const began = holders.find(({ calls }) => calls.some(({ id }) => id === call))
  const holder = began ?? holders.find((each) => agent !== null && sameProcess(each, agent))
  const calls = holder && { holder, end: call, endOldest: call === undefined }
  return refresh(claims, { sessionId, calls }, witness)
}

/** The call that stands for work in the background. */
export const backgroundCall = 'background'

/** Nothing of before is still running, except what goes on in the background; the claim stays. */
export function forgetCalls(
  claims: Claims,
  { sessionId, agent }: Party,
  witness: Witness,
  background: 'keep' | 'start' | 'end',
): Decision<{ claim?: Claim }> {
  const refreshed = refresh(claims, { sessionId }, witness)
  const holders = refreshed.answer.claim?.holders ?? []
  const changes: { holder: Identity; start?: string; end?: string }[] = holders.flatMap((holder) =>
    holder.calls
      .filter(({ id }) => id !== backgroundCall || background === 'end')
      .map(({ id }) => ({ holder, end: id })),
  )
  const worker = holders.find((each) => agent !== null && sameProcess(each, agent)) ?? holders[0]
  if (background === 'start' && worker !== undefined) changes.push({ holder: worker, start: backgroundCall })
  return changes.reduce(
    (decision, calls) => refresh(decision.next ?? claims, { sessionId, calls }, witness),
    refreshed,
  )
}

/** The turn or the session is over: the agent's processes leave the claim. One of another program's that it shares stays. */
export function leave(claims: Claims, { sessionId, agent }: Party): Decision<{ released: boolean }> {
  const holders = claims.claims.find((claim) => claim.session_id === sessionId)?.holders ?? []
  const ours = holders.filter(
    (holder) => holder.calls.length > 0 || (agent !== null && sameProcess(holder, agent)),
  )
  return release(claims, { sessionId, holders: holders.length === 0 ? undefined : ours })
}

/** In a claim's purpose: its session goes on under another name, in the same process. */
export const movingOn = 'about to go on as a new session'

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
    ({ purpose, holders }) => purpose === movingOn && holders.some((holder) => sameProcess(holder, agent)),
  )
}
