import { readlinkSync } from 'node:fs'
import { basename, isAbsolute, join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { listIfReadable } from '../base/fs/exists.ts'
import type { Liveness } from '../base/process/liveness.ts'
import { ancestorsOf, geteuid } from '../base/process/platform.ts'
import { type ProcessTable, readProcessTable, type TableProcess } from '../base/process/process-table.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { isString, parseObject } from '../base/text/fields.ts'
import { type AgentName, agentPrograms, allAgents } from '../hooks/index.ts'

/**
 * Tells which sessions of agents are alive. Only Claude Code notes for each of its processes which session
 * it has. A session of another agent counts as dead only if no process of that agent is left: an age proves
 * nothing, because a session can wait for its user for days.
 */
export class LivingSessions {
  readonly table: ProcessTable
  readonly #processes: ReturnType<typeof agentProcesses>

  constructor(table: ProcessTable = readProcessTable()) {
    this.table = table
    this.#processes = agentProcesses(table)
  }

  lifeOf(agent: AgentName, sessionId: string): Liveness {
    // Without /proc, a script such as `gemini` cannot be told from other programs of Node.
    if (process.platform !== 'linux') return 'unknown'
    const processes = this.#processes.filter((each) => each.agent === agent)
    if (processes.some((each) => each.sessionId === sessionId)) return 'alive'
    if (agent === 'claude' && processes.every((each) => each.sessionId !== undefined)) return 'dead'
    return processes.length === 0 ? 'dead' : 'unknown'
  }

  /**
   * A process in which this session is open: that of its agent, or one that names the id in its arguments,
   * has it in a variable, as the commands of an agent do, or has one of these files open.
   */
  processOf(sessionId: string, files: readonly string[]): number | undefined {
    const noted = this.#processes.find((each) => each.sessionId === sessionId)
    const ancestors = new Set([...ancestorsOf(process.pid)].map(({ pid }) => pid))
    const isOpenIn = (pid: number): boolean =>
      listIfReadable(`/proc/${pid}/fd`).some((fd) =>
        files.includes(ifPossible(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? ''),
      )
    const holder =
      noted ??
      this.table.processes.find(
        ({ pid }) =>
          this.table.environmentOf(pid).includes(`_ID=${sessionId}\0`) ||
          (!ancestors.has(pid) && (this.table.commandOf(pid).includes(sessionId) || isOpenIn(pid))),
      )
    return holder?.pid
  }

  isAgent(pid: number): boolean {
    return this.#processes.some((each) => each.pid === pid)
  }

  /** The agents that run, each once: helpers that an agent starts under its own name are left out. */
  running() {
    return this.#processes
      .filter(({ ppid }) => !this.isAgent(ppid))
      .map(({ agent, pid, sessionId, startedAt }) => ({
        agent,
        pid,
        session_id: sessionId ?? null,
        directory: this.table.directoryOf(pid) || null,
        started_at: Math.round(startedAt),
      }))
  }
}

/** An agent that runs now; the session is null if the agent does not say, the directory if it is hidden. */
export type RunningAgent = ReturnType<LivingSessions['running']>[number]

/** The processes of agents themselves, not those that agents have started; each with its session if known. */
function agentProcesses(table: ProcessTable) {
  const programs = new Map(allAgents.flatMap((agent) => agentPrograms(agent).map((name) => [name, agent])))
  const processes = table.processes.flatMap((each) => {
    if (table.userOf(each.pid) !== geteuid() || isGone(each)) return []
    const agent = programs.get(namesOf(each, table).find((name) => programs.has(name)) ?? '')
    return agent === undefined ? [] : [{ ...each, agent }]
  })
  const sessions = new Map(processes.map((each) => [each.pid, notedSession(each, table)]))
  // Claude Code starts itself for helpers, which have the session of their parent.
  return processes.map((each) => ({ ...each, sessionId: sessions.get(each.pid) ?? sessions.get(each.ppid) }))
}

/** Is this a zombie? While other threads run, a zombie is only the main thread. */
export const isGone = ({ state, threads }: { state: string; threads: number }): boolean =>
  ['Z', 'X'].includes(state) && threads <= 1

/** The names by which a process can be known: that of its program, and that of the script it runs. */
function namesOf({ pid, name }: TableProcess, table: ProcessTable): string[] {
  const [program = '', script = ''] = table.commandOf(pid).split('\0')
  const plain = [program, script].map((word) => basename(word).replace(/\.(?:exe|[cm]?js)$/, ''))
  return [name, ...plain]
}

/** The session in the file that Claude Code keeps for each of its processes, if that is of this process. */
function notedSession(
  { pid, started, agent }: TableProcess & { agent: AgentName },
  table: ProcessTable,
): string | undefined {
  if (agent !== 'claude') return undefined
  const environment = table.environmentOf(pid)
  const directory =
    variableOf(environment, 'CLAUDE_CONFIG_DIR') ?? join(variableOf(environment, 'HOME') ?? '', '.claude')
  if (!isAbsolute(directory)) return undefined
  const { sessionId, procStart } =
    parseObject(readSmallFile(join(directory, 'sessions', `${pid}.json`)) ?? '') ?? {}
  const isOfThis = procStart === undefined || String(procStart) === String(started)
  return isString(sessionId) && isOfThis ? sessionId : undefined
}

/** The value of a variable in an environment whose variables stand between NUL characters. */
export function variableOf(environment: string, name: string): string | undefined {
  const start = environment.indexOf(`\0${name}=`)
  if (start < 0) return undefined
  const from = start + name.length + 2
  const end = environment.indexOf('\0', from)
  return environment.slice(from, end < 0 ? undefined : end)
}
