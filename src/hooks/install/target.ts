import { join, resolve } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { isWithin, realParentPath } from '../../base/fs/paths.ts'
import { askGit } from '../../base/process/run-program.ts'
import type { SettingsAgentName, TargetName } from '../hosts/host.ts'
import { allAgents, allPlaces, hasAgent, type InstallPlace, requiredPath } from './agents.ts'
import { shimPath } from './shim.ts'

/** The file or directory that gets the hooks of one agent. */
export type HookTarget = { place: InstallPlace; path: string } & (
  | { kind: 'settings'; agent: SettingsAgentName }
  | { kind: 'plugin'; agent: 'opencode' }
  /** The directory in which git looks for hooks; `tracked`: everyone who clones the repository gets it. */
  | { kind: 'git'; agent: 'git'; tracked: boolean }
  /** The script that stands before git on PATH. */
  | { kind: 'shim'; agent: 'git' }
)

export type GuardTarget = Extract<HookTarget, { kind: 'git' }>

export const shimTarget = (): HookTarget => ({ kind: 'shim', agent: 'git', place: 'user', path: shimPath() })

/** The targets of an installation: of the named agents, or of every agent that the user has. */
export function targetsToInstall(
  agents: readonly TargetName[],
  place: InstallPlace | undefined,
  workspace: string,
): HookTarget[] {
  if (agents.length > 0)
    return agents.map((agent) => targetOf(agent, place ?? defaultPlace(agent), workspace))
  const targets = allAgents.filter(hasAgent).flatMap((agent) => findTarget(agent, place ?? 'user', workspace))
  if (targets.length > 0) return targets
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
  const targets = all.flatMap((agent) => places.flatMap((each) => findTarget(agent, each, workspace)))
  return eachFileOnce(shim === undefined ? targets : [...targets, shim])
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

type HooksDirectory = Pick<GuardTarget, 'path' | 'tracked'>

/** Asks git, from any directory of the repository; a submodule has hooks of its own. */
function hooksDirectory(directory: string, place: InstallPlace): HooksDirectory {
  if (place === 'local')
    throw new StintError(
      'ARG_ERROR',
      'git has no --local hooks: the hooks of a repository are already yours alone',
    )
  return place === 'user' ? ofUser(directory) : ofRepository(directory)
}

function ofRepository(directory: string): HooksDirectory {
  const workspace = gitSays(directory, 'rev-parse', '--show-toplevel')
  const hooks = workspace && gitSays(workspace, 'rev-parse', '--git-path', 'hooks')
  if (!hooks)
    throw new StintError('NOT_FOUND', `${directory} is not in a git repository with a working tree`, {
      hint: 'Change to the repository to guard.',
    })
  const path = resolve(workspace, hooks)
  const [scope] = (gitSays(workspace, 'config', '--show-scope', '--get', 'core.hooksPath') ?? '').split('\t')
  if (scope === 'global' || scope === 'system')
    throw new StintError('NAME_TAKEN', `git looks for the hooks of all your repositories in ${path}`, {
      hint: 'Use --user to guard all of them, or run `git config --local core.hooksPath .git/hooks` to give this one its own.',
    })
  return { path, tracked: isTracked(workspace, path) }
}

function ofUser(directory: string): HooksDirectory {
  const path = gitSays(directory, 'config', '--global', '--path', '--get', 'core.hooksPath')
  if (path === undefined || path === '')
    throw new StintError(
      'NOT_FOUND',
      'git has no hooks directory for all your repositories: core.hooksPath is not set',
      {
        hint: 'Install the guard in each repository, or run `git config --global core.hooksPath DIR`; git then ignores the hooks in the repositories.',
      },
    )
  return { path: resolve(directory, path), tracked: false }
}

function isTracked(workspace: string, path: string): boolean {
  const common = resolve(workspace, gitSays(workspace, 'rev-parse', '--git-common-dir') ?? '.git')
  if (!isWithin(path, workspace) || isWithin(path, common)) return false
  return gitSays(workspace, 'check-ignore', '--quiet', join(path, 'pre-commit')) === undefined
}

/** The output of git; undefined if it fails. */
function gitSays(directory: string, ...args: string[]): string | undefined {
  const answer = askGit(directory, ...args)
  return 'text' in answer ? answer.text : undefined
}
