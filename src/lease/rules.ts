import type { Identity } from '../base/process/liveness.ts'
import {
  type BrokenClaim,
  type Call,
  type Claim,
  type ClaimMode,
  type ClaimsRecord,
  defaultBusyTtlMs,
  type ClaimHolder,
  sameProcess,
} from './claim.ts'
import { conflict, covers, union } from './overlap.ts'
import { remainingMs, claimStatus, isInForce, type Observation } from './staleness.ts'

/** What a rule decides. The rules are pure functions over the claims, a request, the time and which processes live. */
export interface Decision<Answer> {
  /** What is to be written; absent if nothing changes. */
  next?: ClaimsRecord
  answer: Answer
}

export interface AcquireRequest {
  sessionId: string
  /** The process it lives by; null: none, only its time ends it. */
  holder: Identity | null
  paths: readonly string[]
  mode: ClaimMode
  ttlMs: number
  busyTtlMs?: number
  purpose?: string | null
  /** A call the holder starts with this. */
  call?: string
  /** The host says that this session was renamed: its claim moves along if the process is the same. */
  renamedFrom?: string
}

export type AcquireAnswer =
  | { granted: true; claim: Claim; tookOver: Claim[] }
  | { granted: false; by: Claim; retryAfterMs: number }

/** Free, stale or the same session: granted. A standing claim of another session that conflicts: refused. */
export function decideAcquire(
  claims: ClaimsRecord,
  request: AcquireRequest,
  observation: Observation,
  nextFence: number,
): Decision<AcquireAnswer> {
  const own = ownClaim(claims, request)
  // What a dead process of ours has left is not taken up again.
  const mine = own !== undefined && claimStatus(own, observation) === 'dead' ? undefined : own
  const others = claims.claims.filter((claim) => claim !== mine)
  const remaining = others.filter((claim) => isInForce(claim, observation))
  const wanted = {
    paths: mine === undefined ? union(request.paths, []) : union(mine.paths, request.paths),
    mode: mine?.mode === 'exclusive' ? mine.mode : request.mode,
  }
  const by = remaining.find((claim) => conflict(claim, wanted))
  if (by !== undefined)
    return { answer: { granted: false, by, retryAfterMs: Math.ceil(remainingMs(by, observation)) } }

  // The same again keeps its fence; wanting more is a new grant.
  const widened = mine === undefined || wanted.mode !== mine.mode || !sameList(wanted.paths, mine.paths)
  const fence = widened ? nextFence : mine.fence
  const holders = joinHolders(mine?.holders ?? [], request, observation)
  const isJoint = mine !== undefined && (mine.detached || holders.length > 1)
  const claim: Claim = {
    session_id: request.sessionId,
    pid: holders[0]?.pid ?? null,
    acquired_at: mine?.acquired_at ?? Math.round(observation.now.wall),
    // Those who hold it with us go on refreshing it by their own time.
    ttl_ms: isJoint ? Math.max(mine.ttl_ms, request.ttlMs) : request.ttlMs,
    busy_ttl_ms: request.busyTtlMs ?? mine?.busy_ttl_ms ?? defaultBusyTtlMs,
    ...touched(observation),
    ...wanted,
    fence,
    first_fence: mine === undefined || (widened && mine.narrowed) ? fence : mine.first_fence,
    purpose: request.purpose ?? mine?.purpose ?? null,
    narrowed: !widened && mine.narrowed,
    detached: request.holder === null || (mine?.detached ?? false),
    holders,
  }
  const tookOver = others.filter((other) => !remaining.includes(other))
  return { next: { ...claims, claims: [...remaining, claim] }, answer: { granted: true, claim, tookOver } }
}

export interface RefreshRequest {
  sessionId: string
  /** Only if it is still the claim that began with this fence. */
  firstFence?: number
  /** What its holders become. Applied twice, it must give the same as once. */
  holders?: (before: readonly ClaimHolder[]) => ClaimHolder[]
}

/** Only for the owner; never steals. */
export function decideRefresh(
  claims: ClaimsRecord,
  request: RefreshRequest,
  observation: Observation,
): Decision<{ claim?: Claim }> {
  const mine = claims.claims.find((claim) => isOwn(claim, request))
  if (mine === undefined) return { answer: {} }
  const holders = request.holders?.(mine.holders) ?? mine.holders
  const claim: Claim = { ...mine, ...touched(observation), holders }
  return { next: replaceClaim(claims, mine, claim), answer: { claim } }
}

export interface ReleaseRequest {
  sessionId: string
  firstFence?: number
  /** Take only these processes out of it; the claim ends with its last holder. */
  holders?: readonly Identity[]
  /** Give up only these paths. */
  paths?: readonly string[]
}

export interface ReleaseAnswer {
  released: boolean
  /** What is left of the claim. */
  claim?: Claim
}

/**
 * Only for the owner; never touches another's claim. `tried`: the answer of an earlier attempt, whose swap may have won
 * and been overtaken. If the claim is gone now, that attempt released it.
 */
export function decideRelease(
  claims: ClaimsRecord,
  request: ReleaseRequest,
  tried?: ReleaseAnswer,
): Decision<ReleaseAnswer> {
  const mine = claims.claims.find((claim) => isOwn(claim, request))
  const before = tried?.released ?? false
  if (mine === undefined) return { answer: { released: before } }
  const { holders: leaving, paths } = request
  if (paths !== undefined) {
    const left = mine.paths.filter((path) => !paths.some((given) => covers(given, path)))
    if (left.length === mine.paths.length) return { answer: { released: before, claim: mine } }
    const claim = left.length === 0 ? undefined : { ...mine, paths: left, narrowed: true }
    return { next: replaceClaim(claims, mine, claim), answer: { released: true, claim } }
  }
  const holders = mine.holders.filter((each) => !(leaving ?? []).some((other) => sameProcess(each, other)))
  const goesOn = leaving !== undefined && (holders.length > 0 || mine.detached)
  const claim = goesOn ? { ...mine, holders } : undefined
  return { next: replaceClaim(claims, mine, claim), answer: { released: true, claim } }
}

/** How many broken claims are remembered. */
const rememberedBreaks = 5

export interface BreakAnswer {
  broken: boolean
  /** Set if the session has a newer claim than the one to break. */
  newer?: Claim
}

/** Removes a claim against the will of its owner, and records who did it and why. A claim with another fence stays. */
export function decideBreak(
  claims: ClaimsRecord,
  { session_id, fence }: Pick<Claim, 'session_id' | 'fence'>,
  { by, reason, at }: Omit<BrokenClaim, 'session_id' | 'fence'>,
): Decision<BreakAnswer> {
  // The record shows it if an earlier attempt's swap won and was overtaken.
  if (claims.breaks.some((each) => each.session_id === session_id && each.fence === fence && each.at === at))
    return { answer: { broken: true } }
  const claim = claims.claims.find((each) => each.session_id === session_id)
  if (claim?.fence !== fence) return { answer: { broken: false, newer: claim } }
  const breaks = [...claims.breaks, { session_id, fence, by, reason, at }].slice(-rememberedBreaks)
  return { next: { ...replaceClaim(claims, claim, undefined), breaks }, answer: { broken: true } }
}

/** The session's claim, if it stands and, where a fence is given, was never lost since that. */
export function checkClaim(
  claims: ClaimsRecord,
  sessionId: string,
  fence: number | undefined,
  observation: Observation,
): Claim | undefined {
  const mine = claims.claims.find((claim) => claim.session_id === sessionId)
  if (mine === undefined || !isInForce(mine, observation)) return undefined
  return fence === undefined || (mine.first_fence <= fence && fence <= mine.fence) ? mine : undefined
}

/** An equal pid proves nothing (one process can host many sessions): a claim moves only if its host says so. */
function ownClaim(
  { claims }: ClaimsRecord,
  { sessionId, renamedFrom, holder }: AcquireRequest,
): Claim | undefined {
  const own = claims.find((claim) => claim.session_id === sessionId)
  if (own !== undefined || renamedFrom === undefined || holder === null) return own
  return claims.find(
    (claim) => claim.session_id === renamedFrom && claim.holders.some((each) => sameProcess(each, holder)),
  )
}

const isOwn = (
  claim: Claim,
  { sessionId, firstFence }: { sessionId: string; firstFence?: number },
): boolean => claim.session_id === sessionId && (firstFence === undefined || claim.first_fence === firstFence)

/** The holders that may still live, and the one that asks. */
function joinHolders(
  holders: readonly ClaimHolder[],
  { holder, call }: AcquireRequest,
  observation: Observation,
): ClaimHolder[] {
  const living = holders.filter((each) => observation.liveness(each) !== 'dead')
  if (holder === null) return living
  const joined = withHolder(living, holder)
  if (call === undefined) return joined
  return joined.map((each) =>
    sameProcess(each, holder) ? { ...each, calls: withCall(each.calls, call, observation) } : each,
  )
}

/** The holders with this process as the last of them. */
export function withHolder(holders: readonly ClaimHolder[], holder: Identity): ClaimHolder[] {
  const before = holders.find((each) => sameProcess(each, holder))
  return [...holders.filter((each) => each !== before), { ...holder, calls: before?.calls ?? [] }]
}

/** The calls with this one as the last of them. */
export const withCall = (calls: readonly Call[], id: string, { now }: Observation): Call[] => [
  ...calls.filter((each) => each.id !== id),
  { id, since: Math.round(now.wall) },
]

const touched = ({ now }: Observation): Pick<Claim, 'refreshed_at' | 'mono' | 'clock'> => ({
  refreshed_at: Math.round(now.wall),
  mono: Math.round(now.mono),
  clock: now.clock,
})

const replaceClaim = (claims: ClaimsRecord, old: Claim, next: Claim | undefined): ClaimsRecord => ({
  ...claims,
  claims: claims.claims.flatMap((claim) => (claim === old ? (next ?? []) : claim)),
})

const sameList = (a: readonly string[], b: readonly string[]): boolean => a.join('\0') === b.join('\0')
