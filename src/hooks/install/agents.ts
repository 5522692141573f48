import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import type { AgentName } from '../hosts/host.ts'
import { hosts } from '../hosts/hosts.ts'
import { findOnPath } from './own-program.ts'
import { type AgentFiles, hostSettings } from './host-settings.ts'

export const allAgents = Object.keys(hosts).filter(
  (name): name is AgentName => name !== 'git' && name !== 'vscode',
)

/** Where hooks are installed: for one user everywhere, for everyone in a project, or for one user in it. */
export type InstallPlace = 'user' | 'project' | 'local'

export const allPlaces: readonly InstallPlace[] = ['user', 'project', 'local']

const agentFiles: Readonly<Record<AgentName, AgentFiles>> = {
  ...hostSettings,
  opencode: {
    directory: '.config/opencode',
    variable: 'OPENCODE_CONFIG_DIR',
    followsXdg: true,
    user: 'plugins/stint.js',
    project: '.opencode/plugins/stint.js',
  },
}

/** The directory in which an agent keeps its user's settings. */
export function agentHome(agent: AgentName): string {
  const { variable, directory, followsXdg } = agentFiles[agent]
  const given = variable && process.env[variable]
  if (given && isAbsolute(given)) return given
  const config = process.env.XDG_CONFIG_HOME
  if (followsXdg && config && isAbsolute(config)) return join(config, basename(directory))
  return join(homedir(), directory)
}

/** The file from which an agent reads its hooks; undefined if the agent has none in this place. */
export function settingsPath(agent: AgentName, place: InstallPlace, workspace: string): string | undefined {
  const { directory, user, project = join(directory, user), local, readsMainCheckout } = agentFiles[agent]
  if (place === 'user') return join(agentHome(agent), user)
  const file = place === 'project' ? project : local
  if (file === undefined) return undefined
  return join(readsMainCheckout ? mainCheckout(workspace) : workspace, file)
}

/** The file from which an agent reads its hooks; throws `ARG_ERROR` if the agent has none in this place. */
export function requiredPath(agent: AgentName, place: InstallPlace, workspace: string): string {
  const path = settingsPath(agent, place, workspace)
  if (path !== undefined) return path
  throw new StintError(
    'ARG_ERROR',
    `${agent} has no personal settings within a project, so --${place} does not apply`,
    { hint: 'Leave it out for your own settings, or use --project for everyone in this project.' },
  )
}

/** The names of an agent's program. */
export const agentPrograms = (agent: AgentName): readonly string[] => agentFiles[agent].programs ?? [agent]

/** True if the user has this agent: its program is on PATH, or its directory exists. */
export const hasAgent = (agent: AgentName): boolean =>
  existsSync(agentHome(agent)) || agentPrograms(agent).some((name) => findOnPath(name))

/** The checkout that a linked worktree was made from, or the workspace itself. */
function mainCheckout(workspace: string): string {
  const git = readSmallFile(join(workspace, '.git'))
  const main = /^gitdir: (.*)[/\\]worktrees[/\\][^/\\]+\s*$/.exec(git ?? '')?.[1]
  return main !== undefined && /[/\\]\.git$/.test(main) && isAbsolute(main) ? dirname(main) : workspace
}

const hostVariable = new RegExp(`^(?:${Object.keys(hosts).join('|')})(?:_|CODE)`, 'i')

/** True for a variable that a host sets for its children, such as CLAUDECODE or GIT_DIR. */
export const isHostVariable = (name: string): boolean => hostVariable.test(name)
