import type { Identity } from '../base/process/liveness.ts'
import {
  type BrokenClaim,
  type CallPolicy,
  type Claim,
  type ClaimHolder,
  type ClaimMode,
  type ClaimOrigin,
  type ClaimsRecord,
  defaultBusyTtlMs,
  type HolderCall,
  isSameProcess,
} from './claim-record.ts'
import { isInForce, maxRetryAfterMs, type Observation, remainingMs } from './claim-status.ts'
import { backgroundOf, isDeserted } from './claim-work.ts'
import { areKin, findAncestors, type Kin, type PartyRequest } from './party.ts'

/** The outcome of a rule. The rules are pure functions of the record, a request and an observation. */
export interface Decision<Answer> {
  /** The record to write; absent if nothing changes. */
  next?: ClaimsRecord
  answer: Answer
}

/** A call that is about to begin. */
export type NewCall = Omit<HolderCall, 'since' | 'waiting_since'>

export interface AcquireRequest extends PartyRequest {
  sessionId: string
  /** The process that the claim belongs to; null: none, only its time ends it. */
  holder: Identity | null
  paths: readonly string[]
  mode: ClaimMode
  ttlMs: number
  busyTtlMs?: number
  purpose?: string | null
  /** A call that the holder begins. */
  call?: NewCall
  policy?: CallPolicy
  /** The session's previous id, if its host reports one: a claim of the same process moves along. */
  renamedFrom?: string
  /** Called only for a claim that does not have it yet. */
  origin?: () => ClaimOrigin
  /** The seconds since boot, if the claim is to get a pass: see `marks.ts`. */
  passUptime?: number
}

export type AcquireAnswer =
  | { granted: true; claim: Claim; tookOver: Claim[] }
  | { granted: false; by: Claim; retryAfterMs: number }
export type Granted = Extract<AcquireAnswer, { granted: true }>
export type Refused = Extract<AcquireAnswer, { granted: false }>

/**
 * Grants what is free, stale or the session's own; refuses what conflicts with another claim in force.
 * `tried` is the answer of an earlier attempt, whose swap may have won and been overtaken.
 */
export function decideAcquire(
  record: ClaimsRecord,
  request: AcquireRequest,
  observation: Observation,
  nextFence: number,
  tried?: AcquireAnswer,
): Decision<AcquireAnswer> {
  const own = ownClaim(record, request)
  // A claim that only dead processes hold is granted anew, with a new fence and the processes they have left.
  const left = own !== undefined && isDeserted(own, observation) ? own : undefined
  const mine = left === undefined ? own : undefined
  const others = record.claims
    .filter((claim) => claim !== mine)
    .map((claim) => renameAncestor(claim, mine?.session_id, request.sessionId))
  const remaining = others.filter((claim) => claim !== left && isInForce(claim, observation))
  const wanted = {
    paths: mine === undefined ? unionOf(request.paths, []) : unionOf(mine.paths, request.paths),
    mode: mine?.mode === 'exclusive' ? mine.mode : request.mode,
  }
  const as_parent = request.asParent ?? mine?.as_parent
  const known = { session_id: request.sessionId, ancestors: mine?.ancestors, as_parent, ...wanted }
  const isBlocked = remaining.some((claim) => areInConflict(claim, known))
  const mayHaveParent = request.parent !== undefined || (mine === undefined ? others.length > 0 : isBlocked)
  // A claim keeps its ancestors while it stands, even if theirs have ended.
  const found = mayHaveParent ? findAncestors(record.claims, request) : undefined
  const ancestors =
    found === undefined ? mine?.ancestors : [...new Set([...(mine?.ancestors ?? []), ...found])]
  const party = { session_id: request.sessionId, ancestors, as_parent, ...wanted }
  const by = isBlocked ? remaining.find((claim) => areInConflict(claim, party)) : undefined
  if (by !== undefined) return refuse(record, by, observation)

  // A request for nothing new keeps its fence; one for more is a new grant.
  const isWider = mine === undefined || wanted.mode !== mine.mode || !isSameList(wanted.paths, mine.paths)
  const fence = isWider ? nextFence : mine.fence
  const holders = joinHolders(mine?.holders ?? [], request, observation)
  const isJoint = mine !== undefined && (mine.detached || holders.length > 1)
  const claim: Claim = {
    session_id: request.sessionId,
    pid: holders[0]?.pid ?? null,
    acquired_at: mine?.acquired_at ?? Math.round(observation.now.wall),
    // The other holders keep refreshing at the pace of their own time to live.
    ttl_ms: isJoint ? Math.max(mine.ttl_ms, request.ttlMs) : request.ttlMs,
    busy_ttl_ms: request.busyTtlMs ?? mine?.busy_ttl_ms ?? defaultBusyTtlMs,
    ...refreshedAt(observation),
    ...wanted,
    fence,
    first_fence: mine === undefined || (isWider && mine.narrowed) ? fence : mine.first_fence,
    purpose: request.purpose ?? mine?.purpose ?? null,
    narrowed: !isWider && mine.narrowed,
    detached: request.holder === null || (mine?.detached ?? false),
    holders,
  }
  if (ancestors !== undefined) claim.ancestors = ancestors
  if (as_parent) claim.as_parent = as_parent
  const origin = mine?.origin ?? request.origin?.()
  if (origin !== undefined) claim.origin = origin
  const policy = request.policy ?? mine?.policy
  if (policy !== undefined) claim.policy = policy
  const ticks = mine === undefined ? request.call?.ticks : mine.ticks
  if (ticks !== undefined) claim.ticks = ticks
  const { passUptime: uptime } = request
  // The marks of the former pass are in `holders`: this one has its own.
  if (uptime !== undefined) claim.pass = { uptime, mono: Math.round(observation.now.mono), folded: 0 }
  const background = left?.policy === undefined ? mine?.background : backgroundOf(left, observation)
  if (background !== undefined && background.length > 0) claim.background = background
  const stale = others.filter((other) => !remaining.includes(other))
  // If the record has the claim of the earlier attempt, that attempt has removed the claims it took over.
  const hasWon = tried?.granted === true && tried.claim.fence === mine?.fence
  const tookOver = hasWon ? [...tried.tookOver, ...stale] : stale
  return { next: { ...record, claims: [...remaining, claim] }, answer: { granted: true, claim, tookOver } }
}

/** A session that goes on under another id keeps its children. */
function renameAncestor(claim: Claim, before: string | undefined, after: string): Claim {
  if (before === undefined || before === after || !claim.ancestors?.includes(before)) return claim
  return { ...claim, ancestors: claim.ancestors.map((id) => (id === before ? after : id)) }
}

/** The answer to a request that a claim is in the way of. */
export const refusedBy = (by: Claim, observation: Observation): Refused => ({
  granted: false,
  by,
  retryAfterMs: Math.ceil(remainingMs(by, observation, maxRetryAfterMs)),
})

/**
 * Refuses because of a claim in force. The first refusal after the death of an agent that has left processes
 * notes the time: from then on they keep the claim for as long as background work does.
 */
export function refuse(record: ClaimsRecord, by: Claim, observation: Observation): Decision<Refused> {
  const answer = refusedBy(by, observation)
  if (by.dead_since !== undefined || !isDeserted(by, observation)) return { answer }
  const noted: Claim = { ...by, dead_since: Math.round(observation.now.wall) }
  return { next: replaceClaim(record, by, noted), answer }
}

export interface YieldAnswer {
  /** A claim in force that conflicts. */
  by?: Claim
  /** The sessions that the party works for, if its own claim does not name them yet. */
  ancestors?: string[]
}

/**
 * Looks for a conflict with a claim on a directory above or below, which is in another record. Removes stale
 * claims that conflict: otherwise a late refresh could bring them back.
 */
export function decideYield(
  record: ClaimsRecord,
  claim: ClaimedPaths & Kin,
  observation: Observation,
  descent: PartyRequest['descent'],
): Decision<YieldAnswer> {
  const others = record.claims.filter((other) => overlap(other, claim))
  const ancestors = others.some((other) => areInConflict(other, claim))
    ? findAncestors(record.claims, { sessionId: claim.session_id, descent })
    : undefined
  const party = { ...claim, ancestors: [...(claim.ancestors ?? []), ...(ancestors ?? [])] }
  const conflicting = others.filter((other) => areInConflict(other, party))
  const by = conflicting.find((other) => isInForce(other, observation))
  if (by !== undefined) return { next: refuse(record, by, observation).next, answer: { by, ancestors } }
  if (conflicting.length === 0) return { answer: { ancestors } }
  const claims = record.claims.filter((other) => !conflicting.includes(other))
  return { next: { ...record, claims }, answer: { ancestors } }
}

/** Writes into a granted claim for which sessions its party works. */
export function decideAncestors(
  record: ClaimsRecord,
  { session_id: sessionId, first_fence: firstFence }: Claim,
  ancestors: string[],
): Decision<undefined> {
  const mine = record.claims.find((claim) => isOwn(claim, { sessionId, firstFence }))
  return { next: mine && replaceClaim(record, mine, { ...mine, ancestors }), answer: undefined }
}

/** Takes back a grant that was written: the session's claim is what it was before, if it had one. */
export function decideWithdraw(
  record: ClaimsRecord,
  granted: Claim,
  before: Claim | undefined,
): Decision<undefined> {
  const mine = record.claims.find((claim) => isOwn(claim, { sessionId: granted.session_id }))
  if (mine?.fence !== granted.fence) return { answer: undefined }
  return { next: replaceClaim(record, mine, before), answer: undefined }
}

export interface RefreshRequest {
  sessionId: string
  /** Refresh only the claim that began with this fence. */
  firstFence?: number
  /** Returns the new holders. Applied twice, it must give the same result as once. */
  holders?: (before: readonly ClaimHolder[]) => ClaimHolder[]
  /** The turn has ended, and these processes of its calls still run. */
  endedTurn?: Required<Pick<Claim, 'background'>> & Pick<Claim, 'turn_ended'>
}

/** Refreshes the session's own claim; never takes back one that was lost. */
export function decideRefresh(
  record: ClaimsRecord,
  request: RefreshRequest,
  observation: Observation,
): Decision<{ claim?: Claim }> {
  const mine = record.claims.find((claim) => isOwn(claim, request))
  if (mine === undefined) return { answer: {} }
  const holders = request.holders?.(mine.holders) ?? mine.holders
  const claim: Claim = { ...mine, ...refreshedAt(observation), holders, ...request.endedTurn }
  // The first call of the next turn makes the claim anew.
  if (request.endedTurn !== undefined) delete claim.pass
  return { next: replaceClaim(record, mine, claim), answer: { claim } }
}

export interface ReleaseRequest {
  sessionId: string
  firstFence?: number
  /** Remove only these processes; the claim ends with its last holder. */
  holders?: readonly Identity[]
  /** Release only these paths. */
  paths?: readonly string[]
}

export interface ReleaseAnswer {
  released: boolean
  /** What is left of the claim. */
  claim?: Claim
}

/**
 * Releases the session's own claim, and no other. `tried` is the answer of an earlier attempt, whose swap may
 * have won and been overtaken: if there is nothing left to release, that attempt has released it.
 */
export function decideRelease(
  record: ClaimsRecord,
  request: ReleaseRequest,
  tried?: ReleaseAnswer,
): Decision<ReleaseAnswer> {
  const mine = record.claims.find((claim) => isOwn(claim, request))
  const released = tried?.released ?? false
  if (mine === undefined) return { answer: { released } }
  const { holders: leaving, paths } = request
  if (paths !== undefined) {
    const left = mine.paths.filter((path) => !paths.some((given) => covers(given, path)))
    if (left.length === mine.paths.length) return { answer: { released, claim: mine } }
    const { pass: _withdrawn, ...rest } = mine
    const claim = left.length === 0 ? undefined : { ...rest, paths: left, narrowed: true }
    return { next: replaceClaim(record, mine, claim), answer: { released: true, claim } }
  }
  const holders = mine.holders.filter((each) => !(leaving ?? []).some((other) => isSameProcess(each, other)))
  const goesOn = leaving !== undefined && (holders.length > 0 || mine.detached)
  const claim = goesOn ? { ...mine, holders } : undefined
  return { next: replaceClaim(record, mine, claim), answer: { released: true, claim } }
}

/** How many broken claims a record keeps. */
const keptBreaks = 5

export interface BreakAnswer {
  broken: boolean
  /** Set if the session has a newer claim than the one to break. */
  newer?: Claim
}

/** Removes a claim against its owner's will, and records who did it and why; keeps one with another fence. */
export function decideBreak(
  record: ClaimsRecord,
  { session_id, fence }: Pick<Claim, 'session_id' | 'fence'>,
  { by, reason, at }: Omit<BrokenClaim, 'session_id' | 'fence'>,
): Decision<BreakAnswer> {
  // An earlier attempt, whose swap won and was overtaken, has left its entry.
  if (record.breaks.some((each) => each.session_id === session_id && each.fence === fence && each.at === at))
    return { answer: { broken: true } }
  const claim = record.claims.find((each) => each.session_id === session_id)
  if (claim?.fence !== fence) return { answer: { broken: false, newer: claim } }
  const breaks = [...record.breaks, { session_id, fence, by, reason, at }].slice(-keptBreaks)
  return { next: { ...replaceClaim(record, claim, undefined), breaks }, answer: { broken: true } }
}

/** The session's claim, if it is in force and, where a fence is given, was never lost since that fence. */
export function checkClaim(
  record: ClaimsRecord,
  sessionId: string,
  fence: number | undefined,
  observation: Observation,
): Claim | undefined {
  const mine = record.claims.find((claim) => claim.session_id === sessionId)
  if (mine === undefined || !isInForce(mine, observation)) return undefined
  return fence === undefined || (mine.first_fence <= fence && fence <= mine.fence) ? mine : undefined
}

/** Whether a party has a claim in force, or works for a session that has one: then it never queues. */
export function holdsHere(
  { session_id, ancestors = [] }: Kin,
  { claims }: ClaimsRecord,
  observation: Observation,
): boolean {
  const own = new Set([session_id, ...ancestors])
  return claims.some((claim) => own.has(claim.session_id) && isInForce(claim, observation))
}

/** One process can host many sessions, so an equal pid proves nothing: a claim moves if its host says so. */
function ownClaim(
  { claims }: ClaimsRecord,
  { sessionId, renamedFrom, holder }: AcquireRequest,
): Claim | undefined {
  const own = claims.find((claim) => claim.session_id === sessionId)
  if (own !== undefined || renamedFrom === undefined || holder === null) return own
  return claims.find(
    (claim) => claim.session_id === renamedFrom && claim.holders.some((each) => isSameProcess(each, holder)),
  )
}

const isOwn = (
  claim: Claim,
  { sessionId, firstFence }: { sessionId: string; firstFence?: number },
): boolean => claim.session_id === sessionId && (firstFence === undefined || claim.first_fence === firstFence)

/** The holders that are not known to be dead, and the one that asks. */
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
    isSameProcess(each, holder) ? { ...each, calls: withCall(each.calls, call, observation) } : each,
  )
}

/** The holders with this process as the last of them. */
export function withHolder(holders: readonly ClaimHolder[], holder: Identity): ClaimHolder[] {
  const before = holders.find((each) => isSameProcess(each, holder))
  return [...holders.filter((each) => each !== before), { ...holder, calls: before?.calls ?? [] }]
}

/** The calls with this one as the last of them. */
const withCall = (calls: readonly HolderCall[], call: NewCall, { now }: Observation): HolderCall[] => [
  ...calls.filter((each) => each.id !== call.id),
  { ...call, since: Math.round(now.wall) },
]

const refreshedAt = ({ now }: Observation): Pick<Claim, 'refreshed_at' | 'mono' | 'clock'> => ({
  refreshed_at: Math.round(now.wall),
  mono: Math.round(now.mono),
  clock: now.clock,
})

const replaceClaim = (record: ClaimsRecord, old: Claim, next: Claim | undefined): ClaimsRecord => ({
  ...record,
  claims:
    next === undefined
      ? record.claims.filter((claim) => claim !== old)
      : record.claims.map((claim) => (claim === old ? next : claim)),
})

const isSameList = (a: readonly string[], b: readonly string[]): boolean => a.join('\0') === b.join('\0')

/** Whether a claim on `outer` includes `inner`: a directory includes everything below it. */
export const covers = (outer: string, inner: string): boolean =>
  outer === '**' || outer === inner || inner.startsWith(`${outer}/`)

interface ClaimedPaths {
  paths: readonly string[]
  mode: ClaimMode
}

/** Two claims conflict if they overlap and neither party works for the other. */
export const areInConflict = (a: ClaimedPaths & Kin, b: ClaimedPaths & Kin): boolean =>
  overlap(a, b) && !areKin(a, b)

/** Two claims overlap if they have paths in common and at least one is exclusive. */
export const overlap = (a: ClaimedPaths, b: ClaimedPaths): boolean =>
  (a.mode === 'exclusive' || b.mode === 'exclusive') &&
  a.paths.some((one) => b.paths.some((other) => covers(one, other) || covers(other, one)))

/** The paths of both lists, without those that another path covers. */
export function unionOf(a: readonly string[], b: readonly string[]): string[] {
  if (a.length === 1 && b.length === 0) return [...a]
  const all = [...new Set([...a, ...b])]
  return all.filter((path) => !all.some((other) => other !== path && covers(other, path))).sort()
}
