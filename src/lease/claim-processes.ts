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

/** The command line of a hook, or of the shell that has started it. */
const hookCommand = /(?:^|[\0/ '"])stint-hook(?:\.cjs|\.sh)?(?:[\0 '"]|$)/

/**
 * The processes that the calls of a claim have started and left running, and that are not noted yet: this
 * user's, started since the claim began, in the workspace, and descendants of a holder or marked as the
 * session's.
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
        isNew(process) &&
        !claim.background?.some((noted) => noted.pid === process.pid && noted.started === process.started) &&
        table.userOf(process.pid) === geteuid() &&
        isIn(workspace, table, process) &&
        !(claim.policy?.shared_process && isOfOtherSession(table.environmentOf(process.pid), mark)),
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

/**
 * The descendants of the holders, and marked processes; without the process that asks and its ancestors, and
 * without hooks: one process can have several sessions, and a hook of one that asks for a claim is not the
 * work of another.
 */
function relatives(
  table: ProcessTable,
  holders: readonly ClaimHolder[],
  isMarked: (process: TableProcess) => boolean,
): TableProcess[] {
  const left = askersIn(table)
  for (const { pid } of holders) left.add(pid)
  return descendants(table.processes, holders, isMarked).filter(
    ({ pid, name }) => !left.has(pid) && !helpers.has(name) && !isHook(table, { pid, name }),
  )
}

const isHook = (table: ProcessTable, { pid, name }: Pick<TableProcess, 'pid' | 'name'>): boolean =>
  name === waitingHookName || hookCommand.test(table.commandOf(pid))

/** The pids of this process and its ancestors: a process that asks is never in its own way. */
export function askersIn({ processes }: ProcessTable): Set<number> {
  const parents = new Map(processes.map(({ pid, ppid }) => [pid, ppid]))
  const pids = new Set<number>()
  for (let pid: number | undefined = process.pid; pid !== undefined && !pids.has(pid);) {
    pids.add(pid)
    pid = parents.get(pid)
  }
  return pids
}
