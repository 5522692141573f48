import { isWithin } from '../base/fs/paths.ts'
import type { Identity } from '../base/process/liveness.ts'
import { geteuid } from '../base/process/platform.ts'
import { type ProcessTable, startedSince, type TableProcess } from '../base/process/process-table.ts'
import { descendants } from '../base/process/process-tree.ts'
import type { Claim, ClaimHolder } from './claim-record.ts'

/** How many processes of a claim are named: its record must stay small. */
const maxProcesses = 8

/** A shell waits for the programs it has started, which say more about the work. */
const shells = new Set('sh bash dash zsh ash ksh fish busybox'.split(' '))

/** Programs that keep a machine awake while an agent works. */
const helpers = new Set(['caffeinate', 'systemd-inhibit'])

/** The name that a hook gives to its process while it waits for a claim. */
export const waitingHookName = 'stint-hook'

/**
 * The processes that the calls of a claim have started and left running: this user's, started since the claim
 * began, in the workspace, and descendants of a holder or marked as the session's.
 */
export function processesOfClaim(claim: Claim, table: ProcessTable, workspace?: string): TableProcess[] {
  const mark = claim.policy?.mark
  const isNew = (process: TableProcess): boolean =>
    startedSince(process, { ticks: claim.ticks, wall: claim.acquired_at })
  // Few processes are new: read the environments of those only.
  const isMarked = (process: TableProcess): boolean =>
    mark !== undefined && isNew(process) && table.environmentOf(process.pid).includes(`\0${mark}\0`)
  return relatives(table, claim.holders, isMarked)
    .filter(
      (process) =>
        isNew(process) && table.userOf(process.pid) === geteuid() && isIn(workspace, table, process),
    )
    .sort((a, b) => Number(shells.has(a.name)) - Number(shells.has(b.name)) || a.startedAt - b.startedAt)
    .slice(0, maxProcesses)
}

/** The processes that a holder has started; of one that works for several sessions, those of this claim. */
export function processesOfHolder(
  holder: ClaimHolder,
  { policy }: Claim,
  table: ProcessTable,
  workspace?: string,
): TableProcess[] {
  const all = relatives(table, [holder], () => false)
  if (!policy?.shared_process) return all
  return all.filter(
    (process) =>
      isIn(workspace, table, process) && !isOfOtherSession(table.environmentOf(process.pid), policy.mark),
  )
}

/** Whether the table would show every process of this holder. */
export const canSee = ({ isComplete, processes }: ProcessTable, { pid, started }: Identity): boolean =>
  isComplete && processes.some((each) => each.pid === pid && each.started === started)

/** A process whose directory is not known counts as one in the workspace. */
function isIn(workspace: string | undefined, table: ProcessTable, { pid }: TableProcess): boolean {
  const directory = workspace === undefined ? undefined : table.directoryOf(pid)
  return workspace === undefined || directory === undefined || isWithin(directory, workspace)
}

/** Whether an environment has the variable of the mark with the value of another session. */
function isOfOtherSession(environment: string, mark: string | undefined): boolean {
  if (mark === undefined) return false
  const variable = mark.slice(0, mark.indexOf('=') + 1)
  return environment.includes(`\0${variable}`) && !environment.includes(`\0${mark}\0`)
}

/** The descendants of the holders, and marked processes; without the process that asks and its ancestors. */
function relatives(
  { processes }: ProcessTable,
  holders: readonly ClaimHolder[],
  isMarked: (process: TableProcess) => boolean,
): TableProcess[] {
  const left = ancestorsIn(processes)
  for (const { pid } of holders) left.add(pid)
  // One process can have several sessions: a hook of one that waits for another is not the work of either.
  for (const hook of processes.filter(({ name }) => name === waitingHookName)) {
    left.add(hook.pid)
    const parent = processes.find(({ pid }) => pid === hook.ppid)
    if (parent !== undefined && shells.has(parent.name)) left.add(parent.pid)
  }
  return descendants(processes, holders, isMarked).filter(
    ({ pid, name }) => !left.has(pid) && !helpers.has(name),
  )
}

/** The pids of this process and its ancestors: a hook that asks is no sign of a call that runs. */
function ancestorsIn(processes: readonly TableProcess[]): Set<number> {
  const parents = new Map(processes.map(({ pid, ppid }) => [pid, ppid]))
  const pids = new Set<number>()
  for (let pid: number | undefined = process.pid; pid !== undefined && !pids.has(pid);) {
    pids.add(pid)
    pid = parents.get(pid)
  }
  return pids
}
