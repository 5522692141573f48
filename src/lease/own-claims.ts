import type { Identity } from '../base/process/liveness.ts'
import { visibleText } from '../base/text/escape.ts'
import {
  type BrokenClaim,
  type Claim,
  type ClaimOrigin,
  type ClaimsRecord,
  isSameProcess,
  maxTtlMs,
} from './claim.ts'
import { isInForce, leftoverMs, leftoversOf, type Observation } from './force.ts'
import {
  areInConflict,
  covers,
  type Decision,
  isSameList,
  replaceClaim,
  untilIn,
  withHolder,
} from './rules.ts'

// The rules about the claims that a party has: pure functions, as in `rules.ts`.

/** Names the claims of a party. */
export interface OwnClaims {
  sessionId: string
  /** Only the claim that began with this fence. */
  firstFence?: number
  /** Only the claims of this process, or of no process. */
  holder?: Identity | null
}

const isOwn = (claim: Claim, { sessionId, firstFence, holder }: OwnClaims): boolean =>
  (claim.session_id === sessionId || (holder != null && claim.session_id === `${sessionId}@${holder.pid}`)) &&
  (firstFence === undefined || claim.first_fence === firstFence) &&
  (holder == null ||
    claim.holders.length === 0 ||
    claim.holders.some((process) => isSameProcess(process, holder)))

export interface RenewRequest extends OwnClaims {
  /** The claims last for so many milliseconds from now on. */
  forMs: number
  /** A process that joins the holders. */
  joining?: Identity
  /** What has changed about where the session works. */
  origin?: Partial<ClaimOrigin>
}

/** Renews the party's own claims. Never takes back one that was lost, or whose turn has ended. */
export function decideRenew(
  record: ClaimsRecord,
  request: RenewRequest,
  { now }: Observation,
): Decision<{ claim?: Claim }> {
  const renew = (claim: Claim): Claim => ({
    ...claim,
    ...untilIn(request.forMs, now),
    holders: request.joining === undefined ? claim.holders : withHolder(claim.holders, request.joining),
    ...(request.origin && { origin: { ...claim.origin, ...request.origin } }),
  })
  const isRenewable = (claim: Claim): boolean => isOwn(claim, request) && claim.ends === undefined
  const renewed = record.claims.filter(isRenewable).map(renew)
  if (renewed.length === 0) return { answer: {} }
  const claims = record.claims.map((claim) => (isRenewable(claim) ? renew(claim) : claim))
  return { next: { ...record, claims }, answer: { claim: renewed.at(-1) } }
}

export interface EndTurnRequest extends OwnClaims {
  /** `session`: the claims are kept while the agent lives. */
  hold: 'turn' | 'session'
}

/** Ends a turn: its claims are released, or end when the processes that its calls have left are gone. */
export function decideEndTurn(
  record: ClaimsRecord,
  request: EndTurnRequest,
  observation: Observation,
): Decision<void> {
  if (!record.claims.some((claim) => isOwn(claim, request))) return { answer: undefined }
  const claims = record.claims.flatMap((claim) =>
    isOwn(claim, request) ? (endTurn(claim, request, observation) ?? []) : claim,
  )
  return { next: { ...record, claims, last: request.sessionId }, answer: undefined }
}

/** What is left of a claim at the end of a turn; undefined if nothing is. */
function endTurn(
  claim: Claim,
  { hold, holder }: EndTurnRequest,
  observation: Observation,
): Claim | undefined {
  const { now } = observation
  if (hold === 'session') {
    // Between two turns the user writes no interruption, and no time limit ends the claim.
    const { transcript: _, ...origin } = claim.origin ?? {}
    return { ...claim, ...untilIn(maxTtlMs, now), origin }
  }
  // Another program that shares the claim keeps it.
  const others = holder == null ? [] : claim.holders.filter((process) => !isSameProcess(process, holder))
  if (others.length > 0) return { ...claim, holders: others }
  if (claim.ends !== undefined) return claim
  if (leftoversOf(claim, observation).length === 0) return undefined
  return { ...claim, ...untilIn(0, now), ends: Math.round(now.mono + leftoverMs) }
}

export interface ReleaseRequest extends OwnClaims {
  /** Remove only these processes; a claim ends with its last holder. */
  holders?: readonly Identity[]
  /** Release only these paths. */
  paths?: readonly string[]
}

export interface Released {
  /** There was something to release. */
  released: boolean
  /** What remains of the party's claims. */
  left?: Claim
}

/** Releases the party's own claims, and no others. */
export function decideRelease(record: ClaimsRecord, request: ReleaseRequest): Decision<Released> {
  const claims = record.claims.flatMap((claim) =>
    isOwn(claim, request) ? (remainder(claim, request) ?? []) : claim,
  )
  const left = claims.find((claim) => isOwn(claim, request))
  if (isSameList(claims, record.claims)) return { answer: { released: false, left } }
  return { next: { ...record, claims, last: request.sessionId }, answer: { released: true, left } }
}

function remainder(claim: Claim, { holders: leaving, paths }: ReleaseRequest): Claim | undefined {
  if (paths !== undefined) {
    const kept = claim.paths.filter((path) => !paths.some((outer) => covers(outer, path)))
    if (kept.length === claim.paths.length) return claim
    return kept.length === 0 ? undefined : { ...claim, paths: kept, narrowed: true }
  }
  if (leaving === undefined) return undefined
  if (claim.holders.length === 0) return claim
  const holders = claim.holders.filter((process) => !leaving.some((other) => isSameProcess(process, other)))
  if (holders.length === claim.holders.length) return claim
  return holders.length === 0 ? undefined : { ...claim, holders }
}

/** How many broken claims a record keeps. */
const keptBreaks = 5

/** Removes a claim against its owner's will, and records who did it and why. A newer claim stays. */
export function decideBreak(
  record: ClaimsRecord,
  { session_id, fence }: Pick<Claim, 'session_id' | 'fence'>,
  { by, reason, at }: Omit<BrokenClaim, 'session_id' | 'fence'>,
): Decision<boolean> {
  const isIt = (other: Pick<Claim, 'session_id' | 'fence'>): boolean =>
    other.session_id === session_id && other.fence === fence
  const claim = record.claims.find(isIt)
  // An earlier attempt, whose swap won and was overtaken, has left its entry.
  if (claim === undefined) return { answer: record.breaks.some((entry) => isIt(entry) && entry.at === at) }
  const breaks = [...record.breaks, { session_id, fence, by, reason, at }].slice(-keptBreaks)
  return { next: { ...replaceClaim(record, claim, undefined), breaks }, answer: true }
}

/** The session's claim, if it is in force and, where a fence is given, was never lost since that fence. */
export function checkClaim(
  record: ClaimsRecord,
  sessionId: string,
  fence: number | undefined,
  observation: Observation,
): Claim | undefined {
  return record.claims.find(
    (claim) =>
      claim.session_id === sessionId &&
      (fence === undefined || (claim.first_fence <= fence && fence <= claim.fence)) &&
      isInForce(claim, observation),
  )
}

/**
 * Why a lease was lost: the `cause` of `LOCK_LOST`.
 * - `broken`: `by` a user, who may have given a `reason`.
 * - `taken-over`: another session (`by`) was granted it when it had expired.
 * - `released`: by another process of the same session.
 * - `removed`: the register has no record any more.
 * - `expired`: it was not refreshed in time: the process was suspended, or the register could not be reached.
 */
export interface LeaseLoss {
  kind: 'broken' | 'taken-over' | 'released' | 'removed' | 'expired'
  by?: string
  reason?: string
  /** The last failure of a refresh, if there was one. */
  error?: unknown
}

/** Why a claim, which was there at `lastEpoch`, is not in force any more. */
export function lossIn(
  { epoch, record, observation }: { epoch: number; record: ClaimsRecord; observation: Observation },
  claim: Claim,
  lastEpoch: number,
): LeaseLoss {
  const broken = record.breaks.find(
    ({ session_id, fence }) => session_id === claim.session_id && fence >= claim.first_fence,
  )
  if (broken !== undefined) return { kind: 'broken', by: broken.by, reason: broken.reason ?? undefined }
  if (epoch < lastEpoch) return { kind: 'removed' }
  const taker = record.claims.find((other) => areInConflict(other, claim))
  if (taker !== undefined && taker.session_id !== claim.session_id)
    return { kind: 'taken-over', by: taker.session_id }
  const isStill = record.claims.some(({ session_id }) => session_id === claim.session_id)
  return { kind: isStill || observation.now.wall > claim.until_wall ? 'expired' : 'released' }
}

/** The end of a sentence about a lost lease. */
export function lossText({ kind, by = '', reason, error }: LeaseLoss): string {
  const why = reason === undefined ? '' : ` (${visibleText(reason)})`
  const failed = error instanceof Error ? `: ${error.message}` : ''
  return {
    broken: `it was broken by ${visibleText(by)}${why}`,
    'taken-over': `session ${visibleText(by)} has taken it over`,
    released: 'another process of the session has released it',
    removed: 'its record was removed',
    expired: `it was not refreshed in time${failed}`,
  }[kind]
}
