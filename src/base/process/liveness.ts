import { type Machine, type ProcessStat, pidExists, readProcessStat, thisMachine } from './platform.ts'

/** Names one process for good: pids are reused, a pid with its start time, boot and namespace is not. */
export interface Identity extends Machine {
  pid: number
  /** Start time in clock ticks since boot; null where the platform gives none. */
  started: number | null
}

/** Is the process that wrote this record still the same living process? `unknown`: only time can decide. */
export type Liveness = 'alive' | 'dead' | 'unknown'

/** What a look at the process table shows for a pid. */
export type Sighting = { stat: ProcessStat } | { exists: boolean }

/** This process, or another one of this process table; undefined if there is no such process. */
export function identify(pid: number = process.pid): Identity | undefined {
  const stat = readProcessStat(pid)
  if (stat === undefined && !pidExists(pid)) return undefined
  return { pid, started: stat?.started ?? null, ...thisMachine() }
}

let self: Identity | undefined

/** This process's own identity, read once. */
export function ownIdentity(): Identity {
  self ??= identify() ?? { pid: process.pid, started: null, ...thisMachine() }
  return self
}

/**
 * Looks at the table of processes: is this process alive? `unknown` for one of another machine or namespace.
 *
 * @example
 * const child = identify(pid)
 * if (child === undefined || liveness(child) === 'dead') restart()
 */
export function liveness(identity: Identity): Liveness {
  return judge(identity, thisMachine(), sight)
}

function sight(pid: number): Sighting {
  const stat = readProcessStat(pid)
  // With hidepid, /proc does not show other users' processes; a signal still tells whether they are there.
  return stat === undefined ? { exists: pidExists(pid) } : { stat }
}

/** The rules, over plain data: `look` is asked only when the answer lies in this process table. */
export function judge(them: Identity, here: Machine, look: (pid: number) => Sighting): Liveness {
  if (them.host !== '' && here.host !== '' && them.host !== here.host) return 'unknown'
  if (them.boot !== here.boot) return them.host !== '' && here.host !== '' ? 'dead' : 'unknown'
  if (them.pidns !== here.pidns || them.timens !== here.timens) return 'unknown'
  const seen = look(them.pid)
  if ('exists' in seen) return seen.exists ? 'alive' : 'dead'
  const { state, threads, started } = seen.stat
  if (them.started !== null && started !== them.started) return 'dead'
  // A zombie main thread whose other threads still run can still write; only the last thread's end is death.
  if ((state === 'Z' || state === 'X') && threads <= 1) return 'dead'
  return 'alive'
}

/** An identity read from a file somebody may have damaged or forged, or undefined. */
export function parseIdentity(value: unknown): Identity | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { pid, started, boot, host, pidns, timens } = value as Record<string, unknown>
  if (!isPid(pid) || !(started === null || Number.isSafeInteger(started))) return undefined
  if (typeof boot !== 'string' || typeof host !== 'string' || typeof pidns !== 'string') return undefined
  const time = typeof timens === 'string' ? timens : ''
  return { pid, started: started as number | null, boot, host, pidns, timens: time }
}

// kill(0) and kill(-n) address whole groups: a forged record must never reach them.
const isPid = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= 0x7fffffff
