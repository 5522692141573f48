import { readFileSync } from 'node:fs'
import { listIfReadable } from '../fs/exists.ts'
import type { Identity } from './liveness.ts'
import { type ProcessStat, readProcessStat } from './platform.ts'

/** A process that may be signalled: still the one that was found if its start time is the same. */
export type Found = Pick<ProcessStat, 'pid' | 'started'>

/**
 * The living processes that belong to a run: its recorded children, their descendants by parent link, and any
 * process whose environment carries the run's mark (a daemon has left its parent, not its environment).
 * Empty where there is no /proc.
 */
export function processesOf(children: readonly Identity[], mark: string): Found[] {
  if (children.length === 0) return []
  const processes = processesSince(children)
  return descendants(processes, children, (pid) => environmentOf(pid).includes(`\0${mark}\0`)).filter(
    ({ pid }) => !environmentOf(pid).includes(`\0${guardMark}=`),
  )
}

/** In a guard's environment: guards end by themselves, and only after their work. */
export const guardMark = 'STINT_GUARD'

/** Over plain data: roots that are still themselves, what descends from them, and what is marked. */
export function descendants(
  processes: readonly ProcessStat[],
  roots: readonly Identity[],
  isMarked: (pid: number) => boolean,
): ProcessStat[] {
  const parents = new Map(processes.map((each) => [each.pid, each.ppid]))
  const rootPids = new Set(
    roots
      .filter((root) => processes.some(({ pid, started }) => pid === root.pid && started === root.started))
      .map(({ pid }) => pid),
  )
  // No line of ancestors is longer than the table. A longer one is a ring, made by a pid that was reused while the table was read.
  const belongs = (pid: number): boolean => {
    let at: number | undefined = pid
    for (let steps = 0; at !== undefined && steps <= processes.length; steps++) {
      if (rootPids.has(at)) return true
      at = parents.get(at)
    }
    return false
  }
  return processes.filter(
    ({ pid, state, threads }) =>
      pid !== process.pid &&
      !((state === 'Z' || state === 'X') && threads <= 1) &&
      (belongs(pid) || isMarked(pid)),
  )
}

/** Descendants are younger than their root; and where no pid was handed out since, there are none. */
function processesSince(children: readonly Identity[]): ProcessStat[] {
  const [only] = children
  if (children.length === 1 && only?.pid === lastPid())
    return [only.pid].flatMap((pid) => readProcessStat(pid) ?? [])
  const first = Math.min(...children.map(({ started }) => started ?? 0))
  return listIfReadable('/proc')
    .map(Number)
    .filter(Number.isInteger)
    .flatMap((pid) => readProcessStat(pid) ?? [])
    .filter(({ started }) => started >= first)
}

/** The pid handed out last, the fifth field of loadavg; 0 where it cannot be read. */
function lastPid(): number {
  try {
    return Number(readFileSync('/proc/loadavg', 'utf8').split(' ')[4]) || 0
  } catch {
    return 0
  }
}

function environmentOf(pid: number): string {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'utf8')}`
  } catch {
    return ''
  }
}

/** Signals a process only while it is still the one that was found. */
export function signalProcess({ pid, started }: Found, signal: NodeJS.Signals): void {
  if (started !== 0 && readProcessStat(pid)?.started !== started) return
  try {
    process.kill(pid, signal)
  } catch {
    // It ended in this moment, or is no longer ours to signal.
  }
}
