import type { Identity, Liveness } from '../base/process/liveness.ts'
import { type Claim, maxTtlMs } from './claim.ts'
import type { Now } from './register.ts'

/**
 * What a decision needs to know besides the claims. `isTurnOver` is asked for every claim whose holders are
 * not known to be dead and that has no `ends`; `work` for dead, ended, interrupted and expired ones.
 */
export interface Observation {
  now: Now
  liveness: (process: Identity) => Liveness
  /** The processes that the session of a claim has started and that run in the workspace. */
  work: (claim: Claim) => readonly SessionProcess[]
  /** Whether the transcript of a claim's agent shows that its user has interrupted the turn. */
  isTurnOver: (claim: Claim) => boolean
}

/** A process that a call of a session has started, and that still runs. */
export interface SessionProcess {
  pid: number
  /** Its command line, shortened and without secrets. */
  command: string
  ageMs: number
  /** It has started since the claim was granted. */
  isSinceGrant: boolean
  /** It, or a process below it, listens on a TCP port: a server is not work. */
  readonly isServer: boolean
}

/** For how long processes keep the claim of a turn that has ended, or of holders that have died. */
export const leftoverMs = 10 * 60_000

/** For how long a process keeps a claim past its `until`. */
const maxWorkMs = 2 * 3_600_000

/** Why a claim is in force: its time, or a process. */
export interface Force {
  /** The process that alone keeps the claim in force. */
  process?: SessionProcess
  /** For how many milliseconds it can last without a renewal. */
  leftMs: number
  /** The turn has ended or was interrupted, or the holders have died: `process` was left behind. */
  isLeftover: boolean
}

/** Why a claim is in force; undefined if it is not: the next party that asks gets what it claims. */
export function forceOf(claim: Claim, observation: Observation): Force | undefined {
  const { now } = observation
  const timeLeftMs = msUntil(claim, claim.until, now)
  if (claim.holders.length === 0) return byTime(timeLeftMs)
  const workLeftMs = timeLeftMs + maxWorkMs
  // Until a refusal sets `ends`, leftovers count as if this request had found them first.
  const leftIfFoundNowMs = workLeftMs < 0 ? workLeftMs : leftoverMs
  const endsLeftMs = claim.ends === undefined ? leftIfFoundNowMs : msUntil(claim, claim.ends, now)
  if (endsLeftMs < 0) return undefined
  // A command of a killed agent counts whether it listens or not: its agent will not end it any more.
  if (claimLiveness(claim, observation) === 'dead')
    return byProcess(processesOf(claim, observation), endsLeftMs, true)
  if (claim.ends !== undefined || observation.isTurnOver(claim))
    return byProcess(leftoversOf(claim, observation), endsLeftMs, true)
  if (timeLeftMs >= 0) return byTime(timeLeftMs)
  return byProcess(processesOf(claim, observation), workLeftMs, false)
}

export const isInForce = (claim: Claim, observation: Observation): boolean =>
  forceOf(claim, observation) !== undefined

const byTime = (leftMs: number): Force | undefined =>
  leftMs >= 0 ? { leftMs, isLeftover: false } : undefined

function byProcess(
  [process]: readonly SessionProcess[],
  leftMs: number,
  isLeftover: boolean,
): Force | undefined {
  return process && { process, leftMs, isLeftover }
}

/**
 * The processes that count for a claim. A process from before the grant was left by an earlier turn and has
 * counted there: it counts until ten minutes after its start.
 */
const processesOf = (claim: Claim, { work }: Observation): SessionProcess[] =>
  work(claim).filter(({ isSinceGrant, ageMs }) => isSinceGrant || ageMs <= leftoverMs)

/** The processes that count after the end of a turn: a server that it has left locks nobody out. */
export const leftoversOf = (claim: Claim, observation: Observation): SessionProcess[] =>
  processesOf(claim, observation).filter(({ isServer }) => !isServer)

/** Milliseconds until a time of the claim's clock; by the wall clock for a reader with another clock. */
export function msUntil(claim: Claim, time: number, now: Now): number {
  const isSameClock = claim.clock === now.clock
  const leftMs = isSameClock ? time - now.mono : claim.until_wall + (time - claim.until) - now.wall
  // A time that no claim can have: the wall clock was set back by days, or the record is damaged.
  return leftMs > maxTtlMs + clockSlackMs ? -1 : leftMs
}

/** A wall clock that was set back by less does not end a claim that lasts for the longest possible time. */
const clockSlackMs = 24 * 3_600_000

/** Alive if any holder is, dead if all are; unknown if there is no holder. */
export function claimLiveness({ holders }: Claim, { liveness }: Observation): Liveness {
  const all = holders.map(liveness)
  if (all.includes('alive')) return 'alive'
  return all.length > 0 && all.every((life) => life === 'dead') ? 'dead' : 'unknown'
}
