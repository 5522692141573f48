import { readlinkSync, statSync } from 'node:fs'
import { errorCode } from '../errors/stint-error.ts'
import { listIfReadable } from '../fs/exists.ts'
import type { Identity } from './liveness.ts'
import {
  type ProcessStat,
  readAllProcessStats,
  readEnvironment,
  readProcessStat,
  readSystemFile,
  uptimeSeconds,
} from './platform.ts'
import type { RelatedProcess } from './process-tree.ts'

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

/**
 * Reads all processes: from /proc, or with `ps` on macOS. With `roots`, only those, their descendants and the
 * ancestors of this process, but not what this process has started, if the kernel lists the children of a
 * process. That is far less to read, but a child whose neighbour ends at that moment can be missing: it is
 * for telling people what runs, not for deciding that nothing does.
 */
export const readProcessTable = (roots?: readonly Pick<Identity, 'pid'>[]): ProcessTable =>
  process.platform === 'darwin'
    ? tableByPs()
    : tableByProc((roots && statsBelow(roots)) ?? readAllProcessStats())

function statsBelow(roots: readonly Pick<Identity, 'pid'>[]): ProcessStat[] | undefined {
  const stats = new Map<number, ProcessStat>()
  const find = (pid: number): ProcessStat | undefined => {
    const stat = stats.has(pid) ? undefined : readProcessStat(pid)
    if (stat !== undefined) stats.set(pid, stat)
    return stat
  }
  for (let pid: number | undefined = process.pid; pid;) pid = find(pid)?.ppid
  const pids = roots.map(({ pid }) => pid)
  for (const pid of pids) {
    find(pid)
    const children = readChildren(pid)
    if (children === undefined) return undefined
    // Below a root, this process works for stint, and so do its children.
    pids.push(...children.filter((child) => child !== process.pid && !pids.includes(child)))
  }
  return [...stats.values()]
}

/** The children of a process, which each of its threads has some of; undefined if they are not listed. */
function readChildren(pid: number): number[] | undefined {
  const lists = listIfReadable(`/proc/${pid}/task`).map((thread) =>
    readSystemFile(`/proc/${pid}/task/${thread}/children`),
  )
  const readable = lists.filter((list) => list !== undefined)
  if (readable.length === 0 && lists.length > 0) return undefined
  return readable
    .flatMap((list) => list.split(' '))
    .map(Number)
    .filter((child) => child > 0)
}

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
