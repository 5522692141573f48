import { ifPossible } from '../base/errors/if-possible.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { realParentPath } from '../base/fs/paths.ts'
import type { SettingsAgentName, TargetName } from '../hook/host.ts'
import { allAgents, allPlaces, hasAgent, type InstallPlace, requiredPath } from './agents.ts'
import { hooksDirectory } from './git/hooks-directory.ts'
import { shimPath } from './git/shim.ts'

/** The file or directory that gets the hooks of one agent. */
export type HookTarget = SettingsTarget | PluginTarget | GuardTarget | ShimTarget

interface Target {
  place: InstallPlace
  path: string
}

/** A settings file. */
export interface SettingsTarget extends Target {
  kind: 'settings'
  agent: SettingsAgentName
}

/** The file of a plugin. */
export interface PluginTarget extends Target {
  kind: 'plugin'
  agent: 'opencode'
}

/** The directory in which git looks for hooks. */
export interface GuardTarget extends Target {
  kind: 'git'
  agent: 'git'
  tracked: boolean
}

/** The script that stands before git on PATH. */
export interface ShimTarget extends Target {
  kind: 'shim'
  agent: 'git'
}

export const shimTarget = (): ShimTarget => ({ kind: 'shim', agent: 'git', place: 'user', path: shimPath() })

/** The targets of an installation: of the named agents, or of every agent that the user has. */
export function targetsToInstall(
  agents: readonly TargetName[],
  place: InstallPlace | undefined,
  workspace: string,
): HookTarget[] {
  if (agents.length > 0)
    return agents.map((agent) => targetOf(agent, place ?? defaultPlace(agent), workspace))
  const found = allAgents.filter(hasAgent).flatMap((agent) => findTarget(agent, place ?? 'user', workspace))
  if (found.length > 0) return found
  throw new StintError('NOT_FOUND', 'no agent was found to install hooks for', {
    hint: `Name one: ${[...allAgents, 'git'].join(', ')}.`,
  })
}

const defaultPlace = (agent: TargetName): InstallPlace => (agent === 'git' ? 'project' : 'user')

/** Every possible target of the named agents, or of all, in one place or in each; each file once. */
export function targetsToInspect(
  agents: readonly TargetName[],
  place: InstallPlace | undefined,
  workspace: string,
): HookTarget[] {
  const all = agents.length > 0 ? agents : [...allAgents, 'git' as const]
  const places = place === undefined ? allPlaces : [place]
  // A home that is invalid has no shim; the check of the home reports it.
  const shim = all.includes('git') && places.includes('user') ? ifPossible(shimTarget) : undefined
  const found = all.flatMap((agent) => places.flatMap((each) => findTarget(agent, each, workspace)))
  return eachFileOnce(shim === undefined ? found : [...found, shim])
}

/** Every possible target of agents, each file once. Leaves out git, which would have to be started. */
export const agentTargets = (workspace: string): HookTarget[] =>
  targetsToInspect(allAgents, undefined, workspace)

/** In the home directory, user and project settings are the same file: it counts as the user's. */
function eachFileOnce(targets: readonly HookTarget[]): HookTarget[] {
  const byFile = new Map<string, HookTarget>()
  for (const target of targets) {
    const file = `${target.agent} ${realParentPath(target.path)}`
    if (!byFile.has(file)) byFile.set(file, target)
  }
  return [...byFile.values()]
}

/** The target, if this agent or repository has such a place. */
function findTarget(agent: TargetName, place: InstallPlace, workspace: string): HookTarget[] {
  try {
    return [targetOf(agent, place, workspace)]
  } catch (error) {
    if (error instanceof StintError) return []
    throw error
  }
}

function targetOf(agent: TargetName, place: InstallPlace, workspace: string): HookTarget {
  if (agent === 'git') return { kind: 'git', agent, place, ...hooksDirectory(process.cwd(), place) }
  const path = requiredPath(agent, place, workspace)
  return agent === 'opencode'
    ? { kind: 'plugin', agent, place, path }
    : { kind: 'settings', agent, place, path }
}
