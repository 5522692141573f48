import type { Identity } from '../base/process/liveness.ts'
import { type ProcessStat, readProcessStat, thisMachine } from '../base/process/platform.ts'
import type { AgentName } from './hosts.ts'

/** A process and who started it. */
export interface Ancestor extends Pick<ProcessStat, 'pid' | 'ppid' | 'name'> {
  /** Null where the platform gives none. */
  started: number | null
}

/** What stands between an agent and its hook, and does not outlive it. */
const shells = new Set(
  'sh bash dash zsh ash ksh mksh fish busybox pwsh powershell cmd.exe env timeout nice'.split(' '),
)

/** What takes over the orphans: alive as long as the machine, and nobody's agent. */
const reapers = new Set('systemd init launchd tini dumb-init docker-init catatonit s6-svscan'.split(' '))

/**
 * The process a claim lives by: the agent, not this hook, which ends in a moment. Null if there is none to be
 * found, as when the agent died while its hook was starting: then only time ends the claim.
 */
export function agentProcess(
  host: AgentName,
  env: NodeJS.ProcessEnv,
  ancestors: Iterable<Ancestor> = ancestorsOf(process.ppid),
): Identity | null {
  const agent = chooseAgent(host, env, ancestors)
  return agent === undefined ? null : { pid: agent.pid, started: agent.started, ...thisMachine() }
}

/** Over plain data: the one the host names, if it is above us, else the first that is no shell. */
export function chooseAgent(
  host: AgentName,
  env: NodeJS.ProcessEnv,
  ancestors: Iterable<Ancestor>,
): Ancestor | undefined {
  const said = host === 'claude' ? Number(env.CLAUDE_PID) : Number.NaN
  let first: Ancestor | undefined
  for (const ancestor of ancestors) {
    if (ancestor.pid === said) return ancestor
    if (!shells.has(ancestor.name)) first ??= ancestor
    // A variable is inherited by everything below: it may be that of a session around ours, or one long gone.
    if (first !== undefined && !(said > 0)) break
  }
  return first === undefined || reapers.has(first.name) ? undefined : first
}

/** From the given process up, as far as anybody asks. Without /proc only the first is known. */
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
