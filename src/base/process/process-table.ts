import { readlinkSync, statSync } from 'node:fs'
import { errorCode } from '../errors/stint-error.ts'
import type { Identity } from './liveness.ts'
import {
  type ProcessStat,
  readAllProcessStats,
  readEnvironment,
  readProcessStat,
  readSystemFile,
  uptimeSeconds,
} from './platform.ts'

/** All processes at one moment. Directories, users and environments are read when they are asked for. */
export interface ProcessTable {
  readonly processes: readonly TableProcess[]
  /** False if processes may be missing, as in a /proc that hides other users: finding none proves nothing. */
  readonly isComplete: boolean
  /** The working directory of a process; empty if it has ended, undefined if this user may not know it. */
  directoryOf(pid: number): string | undefined
  /** The user id of a process; undefined if it has ended. */
  userOf(pid: number): number | undefined
  /** The variables of a process, each between NUL characters; empty if this user may not know them. */
  environmentOf(pid: number): string
  /** The words of its command line, each with a NUL character behind it; empty if they cannot be known. */
  commandOf(pid: number): string
}

export interface TableProcess extends RelatedProcess {
  /** The program's name; the kernel cuts it to 15 characters. */
  name: string
  /** The wall time of its start, in milliseconds since the epoch. */
  startedAt: number
}

/** The clock ticks of start times in a second, a constant of the kernel on every common machine. */
const ticksPerSecond = 100

/** Reads all processes: from /proc, or with `ps` on macOS. */
export const readProcessTable = (): ProcessTable =>
  process.platform === 'darwin' ? tableByPs() : tableByProc(readAllProcessStats())

function tableByProc(stats: readonly ProcessStat[]): ProcessTable {
  const bootedAt = Date.now() - (uptimeSeconds() ?? 0) * 1000
  const processes = stats.map((stat) => ({
    ...stat,
    startedAt: bootedAt + (stat.started / ticksPerSecond) * 1000,
  }))
  return {
    processes,
    // With hidepid, /proc shows a user only their own processes. The first process is seldom theirs.
    isComplete: processes.some(({ pid }) => pid === 1),
    directoryOf: readDirectory,
    userOf: (pid) => statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid,
    environmentOf: readEnvironment,
    commandOf: (pid) => readSystemFile(`/proc/${pid}/cmdline`) ?? '',
  }
}

/** A process that exits has no directory any more, a moment before its state says so. */
function readDirectory(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch (error) {
    return ['ENOENT', 'ESRCH'].includes(errorCode(error) ?? '') ? '' : undefined
  }
}

/** The present in clock ticks since boot, as in the start times of processes; undefined without /proc. */
export function ticksNow(): number | undefined {
  const seconds = uptimeSeconds()
  return seconds === undefined ? undefined : Math.round(seconds * ticksPerSecond)
}

/** Whether a process started at this moment or later. The ticks count if both sides have them. */
export const startedSince = (
  { started, startedAt }: Pick<TableProcess, 'started' | 'startedAt'>,
  moment: { ticks?: number; wall: number },
): boolean =>
  started !== null && moment.ticks !== undefined
    ? started >= moment.ticks
    : // ps rounds to seconds.
      startedAt >= moment.wall - 1000

/** macOS tells directories and environments of other processes only to programs that are not part of Node. */
function tableByPs(): ProcessTable {
  const listed = listByPs() ?? []
  const users = new Map(listed.map(({ pid, user }) => [pid, user]))
  return {
    processes: listed,
    isComplete: users.has(1),
    directoryOf: () => undefined,
    userOf: (pid) => users.get(pid),
    environmentOf: () => '',
    commandOf: () => '',
  }
}

type ListedProcess = TableProcess & { user: number }

/** Undefined where there is no `ps`, or Node is too old to load a module without waiting for it. */
export function listByPs(): ListedProcess[] | undefined {
  const now = Date.now()
  // Loaded only here: the hook, which shares this file, starts no other process.
  const spawn = process.getBuiltinModule?.('node:child_process').spawnSync
  const columns = 'pid=,ppid=,uid=,stat=,etime=,comm='
  const { stdout } = spawn?.('ps', ['-axo', columns], { encoding: 'utf8', timeout: 2000 }) ?? {}
  return stdout?.split('\n').flatMap((line) => parsePsLine(line, now) ?? [])
}

function parsePsLine(line: string, now: number): ListedProcess | undefined {
  const [, ids, state = '', age = '', command = ''] =
    /^ *(\d+ +\d+ +\d+) +(\S)\S* +([\d:-]+) +(.*)$/.exec(line) ?? []
  if (ids === undefined) return undefined
  const [pid = 0, ppid = 0, user = 0] = ids.split(/ +/).map(Number)
  // [[days-]hours:]minutes:seconds
  const [seconds = 0, minutes = 0, hours = 0, days = 0] = age.split(/[:-]/).map(Number).toReversed()
  const startedAt = now - (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000
  const name = command.slice(command.lastIndexOf('/') + 1).slice(0, 15)
  return { pid, ppid, user, state, threads: 1, started: null, startedAt, name }
}

/** A process to signal: as long as its start time is unchanged, the pid has not been reused. */
export type LivingProcess = Pick<ProcessStat, 'pid' | 'started'>

/**
 * Finds the living processes of a run: its recorded children, their descendants by parent pid, and every
 * process whose environment contains the run's mark (a daemon leaves its parent, but keeps its environment).
 * Empty on systems without /proc.
 */
export function processesOf(children: readonly Identity[], mark: string): LivingProcess[] {
  if (children.length === 0) return []
  const processes = processesSince(children)
  const isMarked = ({ pid }: ProcessStat): boolean => readEnvironment(pid).includes(`\0${mark}\0`)
  return descendants(processes, children, isMarked).filter(
    ({ pid }) => !readEnvironment(pid).includes(`\0${guardMark}=`),
  )
}

/** A variable in the environment of guards, which end by themselves when their work is done. */
export const guardMark = 'STINT_GUARD'

/** The part of a process's stat that shows its parent and whether it still runs. */
export type RelatedProcess = Omit<ProcessStat, 'name' | 'started'> & Pick<Identity, 'started'>

/** Selects the roots whose pids were not reused, their descendants, and marked processes. */
export function descendants<Process extends RelatedProcess>(
  processes: readonly Process[],
  roots: readonly Identity[],
  isMarked: (process: Process) => boolean,
): Process[] {
  const parents = new Map(processes.map((candidate) => [candidate.pid, candidate.ppid]))
  const rootPids = new Set(
    roots
      .filter((root) => processes.some(({ pid, started }) => pid === root.pid && started === root.started))
      .map(({ pid }) => pid),
  )
  // A pid reused while the table was read can close a loop: no chain of parents is longer than the table.
  const belongs = (pid: number): boolean => {
    let at: number | undefined = pid
    for (let steps = 0; at !== undefined && steps <= processes.length; steps++) {
      if (rootPids.has(at)) return true
      at = parents.get(at)
    }
    return false
  }
  return processes.filter(
    (candidate) =>
      candidate.pid !== process.pid &&
      !((candidate.state === 'Z' || candidate.state === 'X') && candidate.threads <= 1) &&
      (belongs(candidate.pid) || isMarked(candidate)),
  )
}

/** Descendants start after their root; if the kernel has assigned no pid since, there are none. */
function processesSince(children: readonly Identity[]): ProcessStat[] {
  const [only] = children
  if (children.length === 1 && only?.pid === lastPid())
    return [only.pid].flatMap((pid) => readProcessStat(pid) ?? [])
  const first = Math.min(...children.map(({ started }) => started ?? 0))
  return readAllProcessStats().filter(({ started }) => started >= first)
}

/** The pid assigned last, the fifth field of loadavg; 0 if it cannot be read. */
const lastPid = (): number => Number(readSystemFile('/proc/loadavg')?.split(' ')[4]) || 0

/** Signals a process unless its pid has been reused. */
export function signalProcess({ pid, started }: LivingProcess, signal: NodeJS.Signals): void {
  if (started !== 0 && readProcessStat(pid)?.started !== started) return
  try {
    process.kill(pid, signal)
  } catch {
    // It has just ended, or this user may no longer signal it.
  }
}
