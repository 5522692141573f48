import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { StintError } from '../base/errors/stint-error.ts'
import type { Agent } from './agent.ts'
import { onPath } from './on-path.ts'
import type { Place } from './install-scope.ts'

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

const homes: Readonly<Record<Agent, Home>> = {
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
export function agentHome(agent: Agent): string {
  const { variable, directory } = homes[agent]
  const given = variable === '' ? undefined : process.env[variable]
  if (given && isAbsolute(given)) return given
  const config = process.env.XDG_CONFIG_HOME
  if (agent === 'opencode' && config && isAbsolute(config)) return join(config, 'opencode')
  return join(homedir(), directory)
}

/** Where this agent reads hooks from; undefined if it has no such place. */
export function settingsPath(agent: Agent, place: Place, workspace: string): string | undefined {
  const home = homes[agent]
  if (place === 'user') return join(agentHome(agent), home.user)
  const file = home[place]
  if (file === undefined) return undefined
  return join(agent === 'codex' ? mainCheckout(workspace) : workspace, file)
}

/** The same for a place that a person has named: it is their mistake if the agent has none. */
export function requiredPath(agent: Agent, place: Place, workspace: string): string {
  const path = settingsPath(agent, place, workspace)
  if (path !== undefined) return path
  throw new StintError(
    'ARG_ERROR',
    `${agent} has no personal settings within a project: there is no --${place}`,
    {
      hint: 'Leave it out for your own settings, or use --project for everyone in this project.',
    },
  )
}

/** Is this agent one that the user has? Told by its program, or by what it has left in the home directory. */
export const isFound = (agent: Agent): boolean =>
  existsSync(agentHome(agent)) || homes[agent].programs.some((name) => onPath(name))

/** Codex takes a linked worktree's hooks from the checkout it was made from. */
function mainCheckout(workspace: string): string {
  const git = readSmallFile(join(workspace, '.git'))
  const main = /^gitdir: (.*)[/\\]worktrees[/\\][^/\\]+\s*$/.exec(git ?? '')?.[1]
  return main !== undefined && /[/\\]\.git$/.test(main) && isAbsolute(main) ? dirname(main) : workspace
}
