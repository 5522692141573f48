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

/**
 * The reach of an installation: this user everywhere, everyone in this project, or this user in this project.
 */
export type InstallScope = 'user' | 'project' | 'local'

export const allScopes: readonly InstallScope[] = ['user', 'project', 'local']

interface AgentLocation {
  /** The variable that overrides the agent's own directory, if it has one. */
  variable: string
  /** The agent's own directory, below the home directory. */
  directory: string
  /** The settings file below that directory. */
  user: string
  /** The settings files below a project. */
  project: string
  local?: string
  programs: readonly string[]
}

const locations: Readonly<Record<Agent, AgentLocation>> = {
  claude: {
    variable: 'CLAUDE_CONFIG_DIR',
    directory: '.claude',
    user: 'settings.json',
    project: '.claude/settings.json',
    local: '.claude/settings.local.json',
    programs: ['claude'],
  },
  codex: {
    variable: 'CODEX_HOME',
    directory: '.codex',
    user: 'hooks.json',
    project: '.codex/hooks.json',
    programs: ['codex'],
  },
  cursor: {
    variable: '',
    directory: '.cursor',
    user: 'hooks.json',
    project: '.cursor/hooks.json',
    programs: ['cursor', 'cursor-agent'],
  },
  copilot: {
    variable: 'COPILOT_HOME',
    directory: '.copilot',
    // Copilot reads every file in this directory, so stint has one of its own.
    user: 'hooks/stint.json',
    project: '.github/hooks/stint.json',
    programs: ['copilot'],
  },
  gemini: {
    variable: '',
    directory: '.gemini',
    user: 'settings.json',
    project: '.gemini/settings.json',
    programs: ['gemini'],
  },
  opencode: {
    variable: 'OPENCODE_CONFIG_DIR',
    directory: '.config/opencode',
    user: 'plugins/stint.js',
    project: '.opencode/plugins/stint.js',
    programs: ['opencode'],
  },
}

/** The directory in which an agent keeps its user's settings. */
export function agentHome(agent: Agent): string {
  const { variable, directory } = locations[agent]
  const given = variable === '' ? undefined : process.env[variable]
  if (given && isAbsolute(given)) return given
  const config = process.env.XDG_CONFIG_HOME
  if (agent === 'opencode' && config && isAbsolute(config)) return join(config, 'opencode')
  return join(homedir(), directory)
}

/** The file from which an agent reads its hooks; undefined if the agent has none for this scope. */
export function settingsPath(agent: Agent, place: InstallScope, workspace: string): string | undefined {
  const location = locations[agent]
  if (place === 'user') return join(agentHome(agent), location.user)
  const file = location[place]
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
  existsSync(agentHome(agent)) || locations[agent].programs.some((name) => findOnPath(name))

/** The checkout that a linked worktree was made from: Codex reads a worktree's hooks there. */
function mainCheckout(workspace: string): string {
  const git = readSmallFile(join(workspace, '.git'))
  const main = /^gitdir: (.*)[/\\]worktrees[/\\][^/\\]+\s*$/.exec(git ?? '')?.[1]
  return main !== undefined && /[/\\]\.git$/.test(main) && isAbsolute(main) ? dirname(main) : workspace
}
