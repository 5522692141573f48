import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../base/process/clock.ts'
import { geteuid, readProcessStat, readSystemFile } from '../base/process/platform.ts'
import type { ProcessTable, TableProcess } from '../base/process/process-table.ts'
import { guardMark, signalProcess } from '../base/process/process-table.ts'
import { isSessionId } from '../base/text/id.ts'
import { type AgentName, allAgents, hosts, reapers } from '../hooks/index.ts'
import { isGone, LivingSessions, variableOf } from './living-sessions.ts'

/** A process that a session of an agent has started, and that has outlived it. */
export interface OrphanedProcess {
  agent: AgentName
  session_id: string
  pid: number
  /** Clock ticks since boot; with the pid, it identifies the process for good. */
  started: number
  /** The command line, as it is: mask secrets before showing it. */
  command: string
  /** Resident memory. */
  bytes: number
  started_at: number
}

/** Programs that serve their user, not the session that happened to start them first. */
const services = new Set('ssh-agent gpg-agent dbus-daemon dbus-launch keyboxd adb dockerd podman'.split(' '))

/**
 * Finds the processes that dead sessions have left running, parents before their children. The proof: the
 * variable of a session is in their environment, that session has no living process of its agent, the agent
 * that started them has ended, and process 1 has adopted them. Processes on a terminal are left out, with
 * everything that is related to them: a person may sit there. Only on Linux, where environments can be read.
 */
export function findOrphans(living: LivingSessions): OrphanedProcess[] {
  const { table } = living
  const stats = new Map(table.processes.map((candidate) => [candidate.pid, candidate]))
  const parents = new Map(table.processes.map(({ pid, ppid }) => [pid, ppid]))
  const ancestors = ancestorsIn(parents, process.pid)
  const marked = table.processes
    .filter(({ pid }) => !ancestors.includes(pid) && table.userOf(pid) === geteuid())
    .map((candidate) => ({ ...candidate, marks: marksOf(candidate, table) }))
    .filter(({ marks }) => marks.length > 0)
  const markedPids = new Set(marked.map(({ pid }) => pid))
  const topOf = (pid: number): number =>
    ancestorsIn(parents, pid).findLast((ancestor) => markedPids.has(ancestor)) ?? pid
  const isNeeded = ({ pid, name, started, marks }: (typeof marked)[number]): boolean =>
    services.has(name) ||
    isOnTerminal(pid) ||
    ancestorsIn(parents, pid).some((ancestor) => living.isAgent(ancestor)) ||
    marks.some(
      ({ agent, sessionId, agentPid }) =>
        living.lifeOf(agent, sessionId) !== 'dead' || isOlder(stats.get(agentPid ?? 0), started),
    )
  const neededTops = new Set(marked.filter(isNeeded).map(({ pid }) => topOf(pid)))
  const isAdopted = (pid: number): boolean => {
    const parent = parents.get(topOf(pid)) ?? 1
    return parent <= 1 || reapers.has(stats.get(parent)?.name ?? '')
  }
  return marked
    .filter(({ pid, started }) => started !== null && !neededTops.has(topOf(pid)) && isAdopted(pid))
    .sort((a, b) => (a.started ?? 0) - (b.started ?? 0) || a.pid - b.pid)
    .map(({ marks, pid, started, startedAt }) => ({
      agent: marks[0]?.agent ?? 'claude',
      session_id: marks[0]?.sessionId ?? '',
      pid,
      started: started ?? 0,
      command: table.commandOf(pid).split('\0').join(' ').trim(),
      bytes: residentBytes(pid),
      started_at: Math.round(startedAt),
    }))
}

/** Has a process started an orphan, or is it a later one with the pid of that? */
const isOlder = (agent: TableProcess | undefined, started: number | null): boolean =>
  agent !== undefined && (agent.started ?? 0) <= (started ?? 0)

/** A process and its ancestors. */
function ancestorsIn(parents: ReadonlyMap<number, number>, from: number): number[] {
  const line: number[] = []
  for (let pid: number | undefined = from; pid !== undefined && pid > 1 && !line.includes(pid);) {
    line.push(pid)
    pid = parents.get(pid)
  }
  return line
}

/**
 * The sessions whose variables a process has, and the pids of their agents if those say it: several if an
 * agent has started another one. None for a zombie, and for a guard of stint.
 */
function marksOf(process: TableProcess, table: ProcessTable) {
  const environment = isGone(process) ? '' : table.environmentOf(process.pid)
  if (environment.includes(`\0${guardMark}=`)) return []
  return allAgents.flatMap((agent) => {
    const { sessionVariable, processVariable } = hosts[agent]
    // OpenCode's plugin sets the variable that `stint run` also sets, which proves nothing about OpenCode.
    if (sessionVariable === undefined || sessionVariable === 'STINT_SESSION_ID') return []
    const sessionId = variableOf(environment, sessionVariable)
    if (sessionId === undefined || !isSessionId(sessionId)) return []
    const agentPid = processVariable && Number(variableOf(environment, processVariable))
    return [{ agent, sessionId, agentPid: agentPid || undefined }]
  })
}

/** The number of the controlling terminal is the fifth field after the name: proc_pid_stat(5). */
const isOnTerminal = (pid: number): boolean => {
  const stat = readSystemFile(`/proc/${pid}/stat`) ?? ''
  return Number(stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[4]) !== 0
}

/** The bytes of a page; the kernel of every common machine has this size, and the sum is for people. */
const pageBytes = 4096

const residentBytes = (pid: number): number =>
  (Number((readSystemFile(`/proc/${pid}/statm`) ?? '').split(' ')[1]) || 0) * pageBytes

/**
 * Ends orphans, parents first, so that none of them starts its children again: asks with SIGTERM, waits for
 * up to `graceMs`, then kills what is left. A process whose pid was reused is not touched. `alive`: not even
 * SIGKILL has ended it in time.
 */
export async function endOrphans(
  orphans: readonly OrphanedProcess[],
  graceMs: number,
): Promise<(OrphanedProcess & { end: 'ended' | 'killed' | 'alive' })[]> {
  for (const orphan of orphans) signalProcess(orphan, 'SIGTERM')
  await waitForEnd(orphans, graceMs)
  const stubborn = orphans.filter(isRunning)
  for (const orphan of stubborn) signalProcess(orphan, 'SIGKILL')
  await waitForEnd(stubborn, graceMs)
  return orphans.map((orphan) => {
    const end = isRunning(orphan) ? 'alive' : stubborn.includes(orphan) ? 'killed' : 'ended'
    return { ...orphan, end }
  })
}

async function waitForEnd(orphans: readonly OrphanedProcess[], withinMs: number): Promise<void> {
  const until = systemClock.mono() + withinMs
  while (orphans.some(isRunning) && systemClock.mono() < until) await delay(20)
}

function isRunning({ pid, started }: OrphanedProcess): boolean {
  const stat = readProcessStat(pid)
  return stat?.started === started && !isGone(stat)
}
