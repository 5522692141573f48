import { StintError } from '../base/errors/stint-error.ts'
import { realParentPath } from '../base/fs/paths.ts'
import type { AgentName, HostName, SettingsAgentName } from '../hook/host.ts'
import { hosts } from '../hook/hosts.ts'
import { allAgents, allScopes, hasAgent, type InstallScope, requiredPath, settingsPath } from './agents.ts'
import { hooksDirectory } from './git/hooks-directory.ts'

/** A place for hooks: a settings file, the file of a plugin, or the hooks directory of a repository. */
export type HookTarget =
  | { kind: 'settings'; agent: SettingsAgentName; place: InstallScope; path: string }
  | { kind: 'plugin'; agent: 'opencode'; place: InstallScope; path: string }
  | { kind: 'git'; agent: 'git'; place: InstallScope; path: string; tracked: boolean }

/** The targets of an installation: of the named agents, or of every agent that the user has. */
export function targetsToInstall(
  agents: readonly HostName[],
  place: InstallScope | undefined,
  workspace: string,
): HookTarget[] {
  if (agents.length > 0)
    return agents.map((agent) => targetOf(agent, place ?? defaultScope(agent), workspace))
  const scope = place ?? 'user'
  const found = allAgents.filter(
    (agent) => hasAgent(agent) && settingsPath(agent, scope, workspace) !== undefined,
  )
  if (found.length > 0) return found.map((agent) => targetOf(agent, scope, workspace))
  throw new StintError('NOT_FOUND', 'no agent was found to install hooks for', {
    hint: `Name one: ${Object.keys(hosts).join(', ')}.`,
  })
}

const defaultScope = (agent: HostName): InstallScope => (agent === 'git' ? 'project' : 'user')

/** Every possible target of the named agents, or of all, in one scope or in each; each file once. */
export function targetsToInspect(
  agents: readonly HostName[],
  place: InstallScope | undefined,
  workspace: string,
): HookTarget[] {
  const targets = (agents.length > 0 ? agents : [...allAgents, 'git' as const]).flatMap((agent) =>
    (place === undefined ? allScopes : [place]).flatMap((scope) => {
      try {
        return [targetOf(agent, scope, workspace)]
      } catch (error) {
        // This agent or repository has no such scope.
        if (error instanceof StintError) return []
        throw error
      }
    }),
  )
  return eachFileOnce(targets)
}

/** Every possible target of agents, each file once. Leaves out git, which would have to be started. */
export const agentTargets = (workspace: string): HookTarget[] =>
  eachFileOnce(
    allAgents.flatMap((agent) =>
      allScopes.flatMap((scope) => {
        const path = settingsPath(agent, scope, workspace)
        return path === undefined ? [] : [agentTarget(agent, scope, path)]
      }),
    ),
  )

/** In the home directory, user and project settings are the same file: it counts as the user's. */
function eachFileOnce(targets: readonly HookTarget[]): HookTarget[] {
  const byFile = new Map<string, HookTarget>()
  for (const target of targets) {
    const file = `${target.agent} ${realParentPath(target.path)}`
    if (!byFile.has(file)) byFile.set(file, target)
  }
  return [...byFile.values()]
}

function targetOf(agent: HostName, place: InstallScope, workspace: string): HookTarget {
  if (agent === 'git') return { kind: 'git', agent, place, ...hooksDirectory(process.cwd(), place) }
  return agentTarget(agent, place, requiredPath(agent, place, workspace))
}

const agentTarget = (agent: AgentName, place: InstallScope, path: string): HookTarget =>
  agent === 'opencode' ? { kind: 'plugin', agent, place, path } : { kind: 'settings', agent, place, path }
