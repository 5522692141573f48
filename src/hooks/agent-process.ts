import type { Identity } from '../base/process/liveness.ts'
import { type Ancestor, ancestorsOf, thisMachine } from '../base/process/platform.ts'
import type { HostName } from './hosts/host.ts'
import { hosts } from './hosts/hosts.ts'

/** Programs between an agent and its hook, which end with the hook. */
const shells = new Set(
  'sh bash dash zsh ash ksh mksh fish busybox pwsh powershell cmd.exe env timeout nice'.split(' '),
)

/** Programs that adopt orphans: they live as long as the machine, and are no agent. */
export const reapers = new Set(
  'systemd init launchd tini dumb-init docker-init catatonit s6-svscan'.split(' '),
)

/**
 * Finds the agent's process, whose life the claim depends on; the hook's own ends in a moment. Null if there
 * is none, as when the agent died while its hook started: then the claim ends only by its TTL.
 */
export function agentProcess(
  host: HostName,
  env: NodeJS.ProcessEnv,
  ancestors: Iterable<Ancestor> = ancestorsOf(process.ppid),
): Identity | null {
  const agent = chooseAgent(host, env, ancestors)
  return agent === undefined ? null : { pid: agent.pid, started: agent.started, ...thisMachine() }
}

/**
 * Chooses the ancestor that the host names, or else the first that is not a shell. A hook whose shell was
 * killed has lost its ancestors, and counts as one of the process that the host names: if that has died, too,
 * so has the claim.
 */
export function chooseAgent(
  host: HostName,
  env: NodeJS.ProcessEnv,
  ancestors: Iterable<Ancestor>,
): Ancestor | undefined {
  const { processVariable } = hosts[host]
  const said = processVariable === undefined ? Number.NaN : Number(env[processVariable])
  let first: Ancestor | undefined
  let isOrphan: boolean | undefined
  for (const ancestor of ancestors) {
    if (ancestor.pid === said) return ancestor
    // Process 1 adopts a hook whose shell was killed. As an ancestor of all sessions it makes them kin.
    isOrphan ??= ancestor.pid === 1 && ancestor.name !== host
    if (!shells.has(ancestor.name)) first ??= ancestor
    // The variable is inherited by all descendants: it may be that of an outer or a former session.
    if (first !== undefined && !(said > 0)) break
  }
  if (first === undefined || !(isOrphan || reapers.has(first.name))) return first
  return said > 0 ? ancestorsOf(said).next().value : undefined
}
