import type { Identity } from '../base/process/liveness.ts'
import { type Claim, type ClaimMode, type ClaimOrigin, type ClaimsRecord, isSameProcess } from './claim.ts'
import { claimLiveness, forceOf, isInForce, msUntil, type Observation } from './force.ts'
import { areKin, findAncestors, type Kin, type PartyRequest } from './party.ts'
import type { Now } from './register.ts'

// The rules about new claims: pure functions of the record, a request and an observation.

/** The outcome of a rule. */
export interface Decision<Answer> {
  /** The record to write; absent if nothing changes. */
  next?: ClaimsRecord
  answer: Answer
}

/** No caller pauses longer before it asks again: a holder may release long before its claim expires. */
export const maxRetryAfterMs = 3000

export interface AcquireRequest extends PartyRequest {
  sessionId: string
  /** The process that the claim belongs to; null: none, only its time ends it. */
  holder: Identity | null
  paths: readonly string[]
  mode: ClaimMode
  /** How long the claim lasts without a renewal, in milliseconds. */
  forMs: number
  purpose?: string
  /** The time of the request in clock ticks since boot, for a claim that is kept by its processes. */
  ticks?: number
  /** The session's previous id, if its host reports one: a claim of the same process moves along. */
  renamedFrom?: string
  /** The session has one process: a second living one with this id is the party `<id>@<pid>`. */
  isOneProcess?: boolean
  /** Called at each grant, and for a claim that does not have it yet. */
  origin?: () => ClaimOrigin
  /** What has changed about where the session works, if its claim goes on. */
  changes?: Partial<ClaimOrigin>
}

export type AcquireAnswer = Granted | Refused
export interface Granted {
  granted: true
  claim: Claim
  /** The session did not hold it before. */
  isNew: boolean
  tookOver: Claim[]
}
export interface Refused {
  granted: false
  by: Claim
  retryAfterMs: number
}

/** Grants what is free, stale or the party's own; refuses what conflicts with another claim in force. */
export function decideAcquire(
  record: ClaimsRecord,
  request: AcquireRequest,
  observation: Observation,
  nextFence: number,
): Decision<AcquireAnswer> {
  const sessionId = partyIn(record, request, observation)
  const ownClaim = findOwn(record, { ...request, sessionId })
  const current = ownClaim !== undefined && goesOn(ownClaim, observation) ? ownClaim : undefined
  const others = record.claims
    .filter((claim) => claim !== ownClaim)
    .map((claim) => renameAncestor(claim, current?.session_id, sessionId))
  const inForce = others.filter((claim) => isInForce(claim, observation))
  const wanted = wantedBy(request, current)
  const ancestors = ancestorsIn(record, { ...request, sessionId }, current, inForce, wanted)
  const party = { session_id: sessionId, ancestors, ...wanted }
  const blocker = inForce.find((claim) => areInConflict(claim, party))
  if (blocker !== undefined) return refuse(record, blocker, observation)

  const claim = grant(request, current, party, observation, nextFence)
  const tookOver = others.filter((other) => !inForce.includes(other))
  const next = { ...record, fence: Math.max(record.fence, claim.fence), claims: [...inForce, claim] }
  delete next.last
  return { next, answer: { granted: true, claim, isNew: current === undefined, tookOver } }
}

/** The id under which a party has, or would have, its claim here. */
export function partyIn(
  { claims }: ClaimsRecord,
  { sessionId, holder, isOneProcess }: Pick<AcquireRequest, 'sessionId' | 'holder' | 'isOneProcess'>,
  { liveness }: Pick<Observation, 'liveness'>,
): string {
  if (!isOneProcess || holder === null) return sessionId
  const isOurs = ({ holders }: Claim): boolean => holders.some((process) => isSameProcess(process, holder))
  const second = `${sessionId}@${holder.pid}`
  // The second process keeps its name while its claim stands, even if the first has released its own.
  if (claims.some((claim) => claim.session_id === second && isOurs(claim))) return second
  const named = claims.find(({ session_id }) => session_id === sessionId)
  if (named === undefined || named.holders.length === 0 || isOurs(named)) return sessionId
  return named.holders.some((process) => liveness(process) !== 'dead') ? second : sessionId
}

/**
 * The party's own claim. One process can host many sessions, so an equal pid proves nothing: a claim moves to
 * another id only if its host says so. Outside of repositories a session has a claim for each path.
 */
function findOwn(
  { claims }: ClaimsRecord,
  { sessionId, renamedFrom, holder, paths }: AcquireRequest,
): Claim | undefined {
  const isHere = (claim: Claim): boolean => !areAbsolute(paths) || isSameList(claim.paths, paths)
  const ownClaim = claims.find((claim) => claim.session_id === sessionId && isHere(claim))
  if (ownClaim !== undefined || renamedFrom === undefined || holder === null) return ownClaim
  return claims.find(
    (claim) =>
      claim.session_id === renamedFrom &&
      isHere(claim) &&
      claim.holders.some((process) => isSameProcess(process, holder)),
  )
}

/** Whether a claim goes on at the next call. One whose turn or process has ended is granted anew. */
const goesOn = (claim: Claim, observation: Observation): boolean =>
  claim.ends === undefined && claimLiveness(claim, observation) !== 'dead'

const wantedBy = ({ paths, mode }: AcquireRequest, current: Claim | undefined): ClaimedPaths => ({
  paths: unionOf(current?.paths ?? [], paths),
  mode: current?.mode === 'exclusive' ? current.mode : mode,
})

/** The sessions that the party works for. A claim keeps its ancestors while it stands. */
function ancestorsIn(
  record: ClaimsRecord,
  request: AcquireRequest,
  current: Claim | undefined,
  inForce: readonly Claim[],
  wanted: ClaimedPaths,
): string[] | undefined {
  const party = { session_id: request.sessionId, ancestors: current?.ancestors, ...wanted }
  const matters = request.parent !== undefined || inForce.some((claim) => areInConflict(claim, party))
  const ancestors = matters ? findAncestors(record.claims, request) : undefined
  return ancestors === undefined
    ? current?.ancestors
    : [...new Set([...(current?.ancestors ?? []), ...ancestors])]
}

/** The claim that a granted request has. A request for nothing new keeps its fence. */
function grant(
  request: AcquireRequest,
  current: Claim | undefined,
  party: ClaimedPaths & Kin,
  observation: Observation,
  nextFence: number,
): Claim {
  const { now } = observation
  const isSame =
    current !== undefined && party.mode === current.mode && isSameList(party.paths, current.paths)
  const fence = isSame ? current.fence : nextFence
  const wasLost = current === undefined || (current.narrowed && !isSame)
  const leftMs = current === undefined ? 0 : msUntil(current, current.until, now)
  const claim: Claim = {
    session_id: party.session_id,
    holders: joinHolders(current, request.holder, observation),
    paths: [...party.paths],
    mode: party.mode,
    fence,
    first_fence: wasLost ? fence : current.first_fence,
    acquired_at: current?.acquired_at ?? Math.round(now.wall),
    ...untilIn(Math.max(leftMs, request.forMs), now),
  }
  if (isSame && current.narrowed) claim.narrowed = true
  const ticks = current === undefined ? request.ticks : current.ticks
  if (ticks !== undefined) claim.ticks = ticks
  const purpose = request.purpose ?? current?.purpose
  if (purpose !== undefined) claim.purpose = purpose
  const origin = current?.origin ? { ...current.origin, ...request.changes } : request.origin?.()
  if (origin !== undefined) claim.origin = origin
  if (party.ancestors !== undefined) claim.ancestors = [...party.ancestors]
  return claim
}

export const untilIn = (ms: number, now: Now): Pick<Claim, 'clock' | 'until' | 'until_wall'> => ({
  clock: now.clock,
  until: Math.round(now.mono + ms),
  until_wall: Math.round(now.wall + ms),
})

/** A claim that belongs to no process stays so: a process that joins it must not end it by its death. */
function joinHolders(
  current: Claim | undefined,
  holder: Identity | null,
  { liveness }: Observation,
): Identity[] {
  if (current?.holders.length === 0) return []
  const living = (current?.holders ?? []).filter((process) => liveness(process) !== 'dead')
  return holder === null ? living : withHolder(living, holder)
}

export const withHolder = (holders: readonly Identity[], holder: Identity): Identity[] =>
  holders.some((process) => isSameProcess(process, holder)) ? [...holders] : [...holders, holder]

/** A session that goes on under another id keeps its children. */
function renameAncestor(claim: Claim, before: string | undefined, after: string): Claim {
  if (before === undefined || before === after || !claim.ancestors?.includes(before)) return claim
  return { ...claim, ancestors: claim.ancestors.map((id) => (id === before ? after : id)) }
}

/**
 * Refuses because of a claim in force. The first refusal after the death of the holders, or after an
 * interrupted turn, sets the time at which the processes that were left behind stop to count.
 */
function refuse(record: ClaimsRecord, by: Claim, observation: Observation): Decision<Refused> {
  const { now } = observation
  const { leftMs = 0, isLeftover = false } = forceOf(by, observation) ?? {}
  const retryAfterMs = Math.min(maxRetryAfterMs, Math.ceil(leftMs) + 1)
  if (!isLeftover || by.ends !== undefined) return { answer: { granted: false, by, retryAfterMs } }
  const ending = { ...by, ...untilIn(0, now), ends: Math.round(now.mono + leftMs) }
  return { next: replaceClaim(record, by, ending), answer: { granted: false, by: ending, retryAfterMs } }
}

/** A record in which a claim is replaced, or removed. */
export function replaceClaim(record: ClaimsRecord, old: Claim, next: Claim | undefined): ClaimsRecord {
  const claims = record.claims.flatMap((claim) => (claim === old ? (next ?? []) : claim))
  return { ...record, claims }
}

export const isSameList = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index])

/** Whether paths are absolute, as they are in the place outside of repositories. */
const areAbsolute = ([path = '']: readonly string[]): boolean => path.startsWith('/')

/** Whether a claim on `outer` includes `inner`: a directory includes everything below it. */
export const covers = (outer: string, inner: string): boolean =>
  outer === '**' || outer === '/' || outer === inner || inner.startsWith(`${outer}/`)

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
  a.paths.some((path) => b.paths.some((other) => covers(path, other) || covers(other, path)))

/** The paths of both lists, without those that another path covers. */
export function unionOf(a: readonly string[], b: readonly string[]): string[] {
  const all = [...new Set([...a, ...b])]
  return all.filter((path) => !all.some((other) => other !== path && covers(other, path))).sort()
}
