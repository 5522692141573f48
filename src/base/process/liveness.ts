import {
  type Machine,
  type ProcessStat,
  ownThread,
  pidExists,
  readProcessStat,
  readThreadStat,
  thisMachine,
} from './platform.ts'

/** Identifies one process for good: a pid is reused, but not with the same start time, boot and namespace. */
export interface Identity extends Machine {
  pid: number
  /** Start time in clock ticks since boot; null where the platform gives none. */
  started: number | null
  /**
   * Set for a worker thread, where /proc shows threads: `terminate` ends it without running any of its code,
   * while its process goes on.
   */
  thread?: { tid: number; started: number }
}

/** Whether an identified process is still running; `unknown` if this machine cannot tell. */
export type Liveness = 'alive' | 'dead' | 'unknown'

/** What the process table shows for a pid. */
export type Sighting = { stat: ProcessStat } | { exists: boolean }

/** Identifies this process, or another one of the same process table; undefined if there is none. */
export function identify(pid: number = process.pid): Identity | undefined {
  const stat = readProcessStat(pid)
  if (stat === undefined && !pidExists(pid)) return undefined
  return { pid, started: stat?.started ?? null, ...thisMachine() }
}

let self: Identity | undefined

/** The identity of this process, or of this worker thread, read once: all its records must name the same. */
export function ownIdentity(): Identity {
  if (self !== undefined) return self
  const thread = ownThread()
  const identity = identify() ?? { pid: process.pid, started: null, ...thisMachine() }
  self = thread === undefined ? identity : { ...identity, thread }
  return self
}

/**
 * Looks the process up in the process table; `unknown` for one on another machine or in another namespace.
 *
 * @example
 * const child = identify(pid)
 * if (child === undefined || liveness(child) === 'dead') restart()
 */
export function liveness(identity: Identity): Liveness {
  const life = judge(identity, thisMachine(), sight)
  return life === 'alive' && isThreadGone(identity) ? 'dead' : life
}

/** Has the thread of a living process ended? */
function isThreadGone({ pid, thread }: Identity): boolean {
  // A process that /proc hides shows no threads either.
  if (thread === undefined || readProcessStat(pid) === undefined) return false
  return readThreadStat(pid, thread.tid)?.started !== thread.started
}

function sight(pid: number): Sighting {
  const stat = readProcessStat(pid)
  // With hidepid, /proc hides other users' processes; signal 0 still shows whether the pid exists.
  return stat === undefined ? { exists: pidExists(pid) } : { stat }
}

/** Decides liveness over plain data; calls `look` only if this machine's process table has the answer. */
export function judge(identity: Identity, machine: Machine, look: (pid: number) => Sighting): Liveness {
  if (identity.host !== '' && machine.host !== '' && identity.host !== machine.host) return 'unknown'
  if (identity.boot !== machine.boot) {
    // A boot id that could not be read proves no other boot.
    const isEarlierBoot = [identity.host, machine.host, identity.boot, machine.boot].every(Boolean)
    return isEarlierBoot ? 'dead' : 'unknown'
  }
  if (identity.pidns !== machine.pidns || identity.timens !== machine.timens) return 'unknown'
  const sighting = look(identity.pid)
  if ('exists' in sighting) return sighting.exists ? 'alive' : 'dead'
  const { state, threads, started } = sighting.stat
  if (identity.started !== null && started !== identity.started) return 'dead'
  // With a zombie main thread, the other threads can still write: dead only when all have ended.
  if ((state === 'Z' || state === 'X') && threads <= 1) return 'dead'
  return 'alive'
}

/** Parses an identity from a file that may be damaged or forged; undefined if it is not one. */
export function parseIdentity(value: unknown): Identity | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { pid, started, boot, host, pidns, timens, thread } = value as Record<string, unknown>
  if (!isPid(pid) || !(started === null || Number.isSafeInteger(started))) return undefined
  if (typeof boot !== 'string' || typeof host !== 'string' || typeof pidns !== 'string') return undefined
  const time = typeof timens === 'string' ? timens : ''
  const identity: Identity = { pid, started: started as number | null, boot, host, pidns, timens: time }
  const { tid, started: since } = (thread ?? {}) as Record<string, unknown>
  if (isPid(tid) && Number.isSafeInteger(since)) identity.thread = { tid, started: since as number }
  return identity
}

// kill(0) and kill(-n) signal whole process groups: a forged record must never cause that.
const isPid = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= 0x7fffffff
