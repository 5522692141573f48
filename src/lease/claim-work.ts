import { type ProcessTable, startedSince } from '../base/process/process-table.ts'
import {
  type BackgroundProcess,
  type Claim,
  type ClaimHolder,
  defaultCallPolicy,
  type HolderCall,
} from './claim-record.ts'
import { askersIn, canSee, processesOfClaim, processesOfHolder } from './claim-processes.ts'
import type { Observation } from './claim-status.ts'
import type { Now } from './register.ts'

/** The work that keeps a claim busy beyond its time to live. */
export interface Work {
  state: 'running' | 'waiting' | 'background'
  /** Absent for background work. */
  call?: HolderCall
  /** The process that proves it; absent if the call has just begun, or its processes cannot be seen. */
  process?: Pick<BackgroundProcess, 'pid' | 'name'>
  /** When this state began, in milliseconds since the epoch. */
  since: number
  /** For how many milliseconds this state can still last; absent if only the claim's own limits end it. */
  endsInMs?: number
}

/** A call counts as running for so long, in milliseconds, before it has a process. An edit never has one. */
const graceMs = { command: 10_000, edit: 60_000 }

/** The work of a claim's session now; undefined if none is known. The first state that fits counts. */
export const workOf = (claim: Claim, observation: Observation): Work | undefined =>
  runningCall(claim, observation) ?? waitingCall(claim, observation) ?? backgroundWork(claim, observation)

/** The calls of the holders that are alive, the newest first. */
const openCalls = (
  { holders }: Claim,
  { liveness }: Observation,
): { holder: ClaimHolder; call: HolderCall }[] =>
  holders
    .filter((holder) => holder.calls.length > 0 && liveness(holder) === 'alive')
    .flatMap((holder) => holder.calls.map((call) => ({ holder, call })))
    .toReversed()

/** A call with a process younger than it, or one that has just begun, or cannot be checked. */
function runningCall(claim: Claim, observation: Observation): Work | undefined {
  const calls = openCalls(claim, observation)
  // An edit has no process: while all calls are edits that have just begun, the processes tell nothing.
  const isDecided = calls.every(({ call }) => call.kind === 'edit' && hasJustBegun(call, observation.now))
  const table = isDecided ? undefined : observation.processes?.()
  for (const { holder, call } of calls) {
    const moment = { ticks: call.ticks, wall: call.since }
    const process =
      table &&
      processesOfHolder(holder, claim, table, observation.workspace).find((each) =>
        startedSince(each, moment),
      )
    if (process !== undefined) return { state: 'running', call, process, since: call.since }
  }
  const unproven = calls.find(
    ({ holder, call }) =>
      hasJustBegun(call, observation.now) || table === undefined || !canSee(table, holder),
  )
  return unproven && { state: 'running', call: unproven.call, since: unproven.call.since }
}

const hasJustBegun = ({ kind = 'command', since, waiting_since }: HolderCall, { wall }: Now): boolean =>
  waiting_since === undefined && wall - since <= graceMs[kind]

function waitingCall(claim: Claim, observation: Observation): Work | undefined {
  const { prompt_hold_ms } = claim.policy ?? defaultCallPolicy
  for (const { call } of openCalls(claim, observation)) {
    const { waiting_since: since } = call
    const endsInMs = since === undefined ? -1 : prompt_hold_ms - (observation.now.wall - since)
    if (since !== undefined && endsInMs >= 0) return { state: 'waiting', call, since, endsInMs }
  }
  return undefined
}

/** Processes that were noted at the end of a turn and still run, or that a dead agent has left. */
function backgroundWork(claim: Claim, observation: Observation): Work | undefined {
  const { background_ms, mark } = claim.policy ?? defaultCallPolicy
  // The children of a dead process have other parents: only the mark tells whose they are.
  const isLeft = mark !== undefined && isDeserted(claim, observation)
  const noted = notedAlive(claim, observation)
  // A process may have started others since it was noted, and ended.
  const isReplaced = claim.turn_ended && noted.length < (claim.background?.length ?? 0)
  return (isLeft || isReplaced ? backgroundOf(claim, observation) : noted)
    .map(({ pid, name, since }): Work & { endsInMs: number } => ({
      state: 'background',
      process: { pid, name },
      since,
      endsInMs: background_ms - (observation.now.wall - since),
    }))
    .find(({ endsInMs }) => endsInMs >= 0)
}

/**
 * The processes that were noted at the end of a turn and still run. Not the one that asks, nor those above:
 * an agent that was started in a terminal of another agent has inherited the variable of that session.
 */
function notedAlive(
  { background = [], holders: [holder] }: Claim,
  { liveness, processes }: Observation,
): BackgroundProcess[] {
  const alive = background.filter(
    ({ pid, started }) => holder !== undefined && liveness({ ...holder, pid, started }) === 'alive',
  )
  const table = alive.length === 0 ? undefined : processes?.()
  const askers = table && askersIn(table)
  return alive.filter(({ pid }) => !askers?.has(pid))
}

/** Whether every process that the claim belongs to has died. */
export const isDeserted = ({ detached, holders }: Claim, { liveness }: Observation): boolean =>
  !detached && holders.length > 0 && holders.every((holder) => liveness(holder) === 'dead')

/**
 * The processes that the calls of a claim have left running. One that was noted at the end of an earlier turn
 * counts from then, so that it keeps the claim once only; so does one that such a process has started since.
 */
export function backgroundOf(claim: Claim, observation: Observation): BackgroundProcess[] {
  const { background_ms } = claim.policy ?? defaultCallPolicy
  const table = background_ms > 0 ? observation.processes?.() : undefined
  const noted = notedAlive(claim, observation)
  if (table === undefined) return noted
  const endedAt = claim.turn_ended && claim.background?.reduce((last, each) => Math.max(last, each.since), 0)
  const since = endedAt ?? claim.dead_since ?? Math.round(observation.now.wall)
  const found = processesOfClaim(claim, table, observation.workspace).map(({ pid, ppid, started, name }) => ({
    pid,
    started,
    name,
    since: sinceAbove(ppid, noted, table) ?? since,
  }))
  return [...noted, ...found]
}

/** Since when the nearest noted process above a process counts: a server may start its workers anew. */
function sinceAbove(
  parent: number,
  noted: readonly BackgroundProcess[],
  { processes }: ProcessTable,
): number | undefined {
  const parents = new Map(processes.map(({ pid, ppid }) => [pid, ppid]))
  for (let pid: number | undefined = parent; pid !== undefined;) {
    const known = noted.find((each) => each.pid === pid)
    if (known !== undefined) return known.since
    const next = parents.get(pid)
    // A ring of parents has an end.
    parents.delete(pid)
    pid = next
  }
  return undefined
}
