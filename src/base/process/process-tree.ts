import { readFileSync } from 'node:fs'
import { ifPossible } from '../errors/if-possible.ts'
import { listIfReadable } from '../fs/exists.ts'
import type { Identity } from './liveness.ts'
import { type ProcessStat, readProcessStat } from './platform.ts'

/** A process to signal: as long as its start time is unchanged, the pid has not been reused. */
export type Found = Pick<ProcessStat, 'pid' | 'started'>

/**
 * Finds the living processes of a run: its recorded children, their descendants by parent pid, and every
 * process whose environment contains the run's mark (a daemon leaves its parent, but keeps its environment).
 * Empty on systems without /proc.
 */
export function processesOf(children: readonly Identity[], mark: string): Found[] {
  if (children.length === 0) return []
  const processes = processesSince(children)
  return descendants(processes, children, (pid) => environmentOf(pid).includes(`\0${mark}\0`)).filter(
    ({ pid }) => !environmentOf(pid).includes(`\0${guardMark}=`),
  )
}

/** A variable in the environment of guards, which end by themselves when their work is done. */
export const guardMark = 'STINT_GUARD'

/** Selects the roots whose pids were not reused, their descendants, and marked processes. */
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
    ({ pid, state, threads }) =>
      pid !== process.pid &&
      !((state === 'Z' || state === 'X') && threads <= 1) &&
      (belongs(pid) || isMarked(pid)),
  )
}

/** Descendants start after their root; if the kernel has assigned no pid since, there are none. */
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

/** The pid assigned last, the fifth field of loadavg; 0 if it cannot be read. */
const lastPid = (): number => Number(readIfPossible('/proc/loadavg').split(' ')[4]) || 0

const environmentOf = (pid: number): string => `\0${readIfPossible(`/proc/${pid}/environ`)}`

const readIfPossible = (path: string): string => ifPossible(() => readFileSync(path, 'utf8')) ?? ''

/** Signals a process unless its pid has been reused. */
export function signalProcess({ pid, started }: Found, signal: NodeJS.Signals): void {
  if (started !== 0 && readProcessStat(pid)?.started !== started) return
  try {
    process.kill(pid, signal)
  } catch {
    // It has just ended, or this user may no longer signal it.
  }
}
