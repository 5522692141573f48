import type { Identity } from './liveness.ts'
import {
  type ProcessStat,
  readAllProcessStats,
  readEnvironment,
  readProcessStat,
  readSystemFile,
} from './platform.ts'

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
