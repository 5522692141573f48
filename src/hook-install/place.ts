import { existsSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import type { AgentName } from '../hook/hosts.ts'
import { readSmallFile } from '../primitives/small-file.ts'
import { StintError } from '../primitives/stint-error.ts'

/** For whom hooks are installed: this user everywhere, everyone in this project, or this user in this project. */
export type Place = 'user' | 'project' | 'local'

/** The agents that keep their hooks in a JSON file. git has scripts, OpenCode a plugin. */
export type SettingsAgent = Exclude<AgentName, 'git' | 'opencode'>

interface Home {
  /** Where the agent keeps what is the user's own. */
  variable: string
  directory: string
  /** Below that, and below the project. */
  user: string
  project: string
  local?: string
  /** By what its program goes. */
  programs: readonly string[]
}

const homes: Readonly<Record<Exclude<AgentName, 'git'>, Home>> = {
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
    // It reads every file in this directory: one of our own is the cleanest.
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

/** The directory of what is the user's own of this agent. */
export function agentHome(agent: Exclude<AgentName, 'git'>, env: NodeJS.ProcessEnv = process.env): string {
  const { variable, directory } = homes[agent]
  const given = variable === '' ? undefined : env[variable]
  if (given && isAbsolute(given)) return given
  const config = env.XDG_CONFIG_HOME
  if (agent === 'opencode' && config && isAbsolute(config)) return join(config, 'opencode')
  return join(homedir(), directory)
}

/** Where this agent reads hooks from; undefined if it has no such place. */
export function settingsPath(
  agent: Exclude<AgentName, 'git'>,
  place: Place,
  workspace: string,
  env?: NodeJS.ProcessEnv,
): string | undefined {
  const home = homes[agent]
  if (place === 'user') return join(agentHome(agent, env), home.user)
  const file = home[place]
  if (file === undefined) return undefined
  return join(agent === 'codex' ? mainCheckout(workspace) : workspace, file)
}

/** Is this agent one that the user has? Told by its program, or by what it has left in the home directory. */
export function isFound(agent: Exclude<AgentName, 'git'>, env: NodeJS.ProcessEnv = process.env): boolean {
  return existsSync(agentHome(agent, env)) || homes[agent].programs.some((name) => onPath(name, env))
}

/** The first file of this name that PATH leads to. */
export function onPath(name: string, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const candidates = (env.PATH ?? '')
    .split(delimiter)
    .filter(isAbsolute)
    .map((directory) => join(directory, name))
  return candidates.find((path) => {
    try {
      const stat = statSync(path, { throwIfNoEntry: false })
      return stat !== undefined && stat.isFile() && (stat.mode & 0o111) !== 0
    } catch {
      return false
    }
  })
}

/** Codex takes a linked worktree's hooks from the checkout it was made from. */
function mainCheckout(workspace: string): string {
  const git = readSmallFile(join(workspace, '.git'))
  const main = /^gitdir: (.*)[/\\]worktrees[/\\][^/\\]+\s*$/.exec(git ?? '')?.[1]
  return main !== undefined && /[/\\]\.git$/.test(main) && isAbsolute(main) ? dirname(main) : workspace
}

/** The same, where not having it is the caller's mistake. */
export function requiredPath(
  agent: Exclude<AgentName, 'git'>,
  place: Place,
  workspace: string,
  env?: NodeJS.ProcessEnv,
): string {
  const path = settingsPath(agent, place, workspace, env)
  if (path !== undefined) return path
  throw new StintError(
    'ARG_ERROR',
    `${agent} has no personal settings within a project: there is no --${place}`,
    {
      hint: 'Leave it out for your own settings, or use --project for everyone in this project.',
    },
  )
}
