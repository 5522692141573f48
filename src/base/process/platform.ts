import { readFileSync, readlinkSync } from 'node:fs'
import { listIfReadable } from '../fs/exists.ts'
import { ifPossible } from '../errors/if-possible.ts'

/**
 * What the operating system reports about processes. All platform differences of liveness are in this file:
 * Linux has /proc; other systems only show whether a pid exists.
 */

/** A process as /proc/<pid>/stat shows it. */
export interface ProcessStat {
  pid: number
  ppid: number
  /** The program's name; the kernel cuts it to 15 characters. */
  name: string
  /** `R`, `S`, `Z`, … */
  state: string
  threads: number
  /** Start time in clock ticks since boot; together with the pid it identifies one process for good. */
  started: number
}

/** Reads a process's stat; undefined if /proc does not show the process. */
export const readProcessStat = (pid: number): ProcessStat | undefined => readStat(`/proc/${pid}/stat`)

/** Reads the stat of a thread; undefined if /proc does not show the thread. */
export const readThreadStat = (pid: number, tid: number): ProcessStat | undefined =>
  readStat(`/proc/${pid}/task/${tid}/stat`)

const readStat = (path: string): ProcessStat | undefined =>
  ifPossible(() => (isOurProc() ? parseProcessStat(readFileSync(path, 'utf8')) : undefined))

/** The worker thread in which this code runs; undefined in the main thread, and without /proc. */
export function ownThread(): { tid: number; started: number } | undefined {
  const link = ifPossible(() => readlinkSync('/proc/thread-self')) ?? ''
  const tid = Number(/^\d+\/task\/(\d+)$/.exec(link)?.[1] ?? process.pid)
  const stat = tid === process.pid ? undefined : readThreadStat(process.pid, tid)
  return stat && { tid, started: stat.started }
}

/**
 * The text of a file of the system's, such as those in /proc; undefined if it cannot be read. As text, Node
 * opens, reads and closes it in one call, which the hook makes many times.
 */
export const readSystemFile = (path: string): string | undefined =>
  ifPossible(() => readFileSync(path, 'utf8'))

/** Every process that /proc shows. */
export const readAllProcessStats = (): ProcessStat[] =>
  listIfReadable('/proc')
    .map(Number)
    .filter(Number.isInteger)
    .flatMap((pid) => readProcessStat(pid) ?? [])

/** The variables a process was started with, each between NUL characters; empty if they cannot be read. */
export function readEnvironment(pid: number): string {
  const text = readSystemFile(`/proc/${pid}/environ`)
  return text === undefined ? '' : `\0${text}`
}

let ourProc: boolean | undefined

/** False in a new pid namespace that kept its parent's /proc: the pids there belong to other processes. */
function isOurProc(): boolean {
  ourProc ??= readlinkSync('/proc/self') === String(process.pid)
  return ourProc
}

/** Counts fields after the last `)`: a command name may itself contain spaces and parentheses. */
export function parseProcessStat(text: string): ProcessStat | undefined {
  const end = text.lastIndexOf(') ')
  if (end < 0) return undefined
  const name = text.slice(text.indexOf('(') + 1, end)
  const state = text.charAt(end + 2)
  // After the state: ppid is the 1st field, the number of threads the 17th, the start time the 19th.
  let at = end + 4
  const ppid = Number.parseInt(text.slice(at, at + 11), 10)
  for (let field = 1; field < 17; field++) at = text.indexOf(' ', at) + 1
  const threads = Number.parseInt(text.slice(at, at + 11), 10)
  at = text.indexOf(' ', text.indexOf(' ', at) + 1) + 1
  const started = Number(text.slice(at, text.indexOf(' ', at)))
  const pid = Number.parseInt(text, 10)
  return Number.isInteger(pid) && Number.isInteger(started)
    ? { pid, ppid, name, state, threads, started }
    : undefined
}

/** The words of a process's command line; none if /proc does not show the process. */
export function readCommandLine(pid: number): string[] {
  const text = isOurProc() ? readSystemFile(`/proc/${pid}/cmdline`) : undefined
  // Every word ends with a NUL.
  return text?.split('\0').slice(0, -1) ?? []
}

/** A process, with the pid of its parent. */
export interface Ancestor extends Pick<ProcessStat, 'pid' | 'ppid' | 'name'> {
  /** Null where the platform does not tell it. */
  started: number | null
}

/** The ancestors of a process, itself first. Without /proc, only the process itself is known. */
export function* ancestorsOf(from: number): Generator<Ancestor> {
  let pid = from
  for (let count = 0; pid > 0 && count < 64; count++) {
    const ancestor = readProcessStat(pid)
    if (ancestor === undefined) {
      if (count === 0 && pid > 1) yield { pid, ppid: 0, started: null, name: '' }
      return
    }
    yield ancestor
    pid = ancestor.ppid
  }
}

/** Does this pid exist? Also if this user may not signal it. */
export function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The facts that all processes with one process table share. */
export interface Machine {
  /** Kernel boot id; empty where there is none, or if it could not be read. */
  boot: string
  /** machine-id; empty where there is none. */
  host: string
  pidns: string
  timens: string
}

/** Seconds since boot, including the time a machine was suspended; undefined without /proc. */
export function uptimeSeconds(): number | undefined {
  const text = readSystemFile('/proc/uptime')
  return text === undefined ? undefined : Number.parseFloat(text)
}

let machine: Machine | undefined

/** The facts of this machine, read once: none can change while this process lives. */
export function thisMachine(): Machine {
  if (machine !== undefined) return machine
  const facts = {
    boot: readLine('/proc/sys/kernel/random/boot_id'),
    host: readLine('/etc/machine-id') || readLine('/var/lib/dbus/machine-id'),
    pidns: namespaceOf('pid'),
    timens: namespaceOf('time'),
  }
  // A read that failed, such as for lack of file descriptors, is tried again at the next call.
  if (facts.boot !== '' || process.platform !== 'linux') machine = facts
  return facts
}

/** The effective user id; 0 on Windows, which has none: `lstat` reports 0 for every file there. */
export const geteuid = (): number => process.geteuid?.() ?? 0

const readLine = (path: string): string => readSystemFile(path)?.trim() ?? ''

const namespaceOf = (kind: string): string =>
  ifPossible(() => readlinkSync(`/proc/self/ns/${kind}`).slice(`${kind}:[`.length, -1)) ?? ''
