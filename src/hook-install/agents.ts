import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { StintError } from '../base/errors/stint-error.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { type AgentName, hosts } from '../hook/hosts.ts'
import { findOnPath } from './hook-program.ts'

/** An agent that changes files. git is not one: its hooks are installed only on request. */
export type Agent = Exclude<AgentName, 'git'>

/** An agent that keeps its hooks in a JSON file; OpenCode has a plugin instead. */
export type SettingsAgent = Exclude<Agent, 'opencode'>

export const allAgents = Object.keys(hosts).filter((name): name is Agent => name !== 'git')

/** The reach of an installation: one user everywhere, everyone in a project, or one user in a project. */
export type InstallScope = 'user' | 'project' | 'local'

export const allScopes: readonly InstallScope[] = ['user', 'project', 'local']

interface AgentLocation {
  /** The agent's own directory, below the home directory. */
  directory: string
  /** The variable that overrides that directory. */
  variable?: string
  /** The settings file in that directory. */
  user: string
  /** The settings files below a project; by default in a directory of the same name. */
  project?: string
  local?: string
  /** By default a program of the agent's name. */
  programs?: readonly string[]
}

const locations: Readonly<Record<Agent, AgentLocation>> = {
  claude: {
    directory: '.claude',
    variable: 'CLAUDE_CONFIG_DIR',
    user: 'settings.json',
    local: '.claude/settings.local.json',
  },
  codex: { directory: '.codex', variable: 'CODEX_HOME', user: 'hooks.json' },
  cursor: { directory: '.cursor', user: 'hooks.json', programs: ['cursor', 'cursor-agent'] },
  // Copilot reads every file in its hooks directory, so stint has one of its own.
  copilot: {
    directory: '.copilot',
    variable: 'COPILOT_HOME',
    user: 'hooks/stint.json',
    project: '.github/hooks/stint.json',
  },
  gemini: { directory: '.gemini', user: 'settings.json' },
  opencode: {
    directory: '.config/opencode',
    variable: 'OPENCODE_CONFIG_DIR',
    user: 'plugins/stint.js',
    project: '.opencode/plugins/stint.js',
  },
}

/** The directory in which an agent keeps its user's settings. */
export function agentHome(agent: Agent): string {
  const { variable, directory } = locations[agent]
  const given = variable && process.env[variable]
  if (given && isAbsolute(given)) return given
  const config = process.env.XDG_CONFIG_HOME
  if (agent === 'opencode' && config && isAbsolute(config)) return join(config, 'opencode')
  return join(homedir(), directory)
}

/** The file from which an agent reads its hooks; undefined if the agent has none for this scope. */
export function settingsPath(agent: Agent, place: InstallScope, workspace: string): string | undefined {
  const { directory, user, project = join(directory, user), local } = locations[agent]
  if (place === 'user') return join(agentHome(agent), user)
  const file = place === 'project' ? project : local
  if (file === undefined) return undefined
  return join(agent === 'codex' ? mainCheckout(workspace) : workspace, file)
}

/** The file from which an agent reads its hooks; throws `ARG_ERROR` if the agent has none for this scope. */
export function requiredPath(agent: Agent, place: InstallScope, workspace: string): string {
  const path = settingsPath(agent, place, workspace)
  if (path !== undefined) return path
  throw new StintError(
    'ARG_ERROR',
    `${agent} has no personal settings within a project, so --${place} does not apply`,
    { hint: 'Leave it out for your own settings, or use --project for everyone in this project.' },
  )
}

/** True if the user has this agent: its program is on PATH, or its directory exists. */
export const hasAgent = (agent: Agent): boolean =>
  existsSync(agentHome(agent)) || (locations[agent].programs ?? [agent]).some((name) => findOnPath(name))

/** The checkout that a linked worktree was made from: Codex reads a worktree's hooks there. */
function mainCheckout(workspace: string): string {
  const git = readSmallFile(join(workspace, '.git'))
  const main = /^gitdir: (.*)[/\\]worktrees[/\\][^/\\]+\s*$/.exec(git ?? '')?.[1]
  return main !== undefined && /[/\\]\.git$/.test(main) && isAbsolute(main) ? dirname(main) : workspace
}
