import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { readSmallFile } from '../../base/fs/regular-file.ts'
import type { AgentName, HostEvent, SettingsAgentName } from '../hosts/host.ts'
import { hosts } from '../hosts/hosts.ts'
import { findOnPath } from './own-program.ts'

export const allAgents = Object.keys(hosts).filter(
  (name): name is AgentName => name !== 'git' && name !== 'vscode',
)

/** Where hooks are installed: for one user everywhere, for everyone in a project, or for one user in it. */
export type InstallPlace = 'user' | 'project' | 'local'

export const allPlaces: readonly InstallPlace[] = ['user', 'project', 'local']

/** The files from which an agent reads its hooks. */
interface AgentFiles {
  /** The agent's own directory, below the home directory. */
  readonly directory: string
  /** The variable that overrides that directory. */
  readonly variable?: string
  /** The directory is below `XDG_CONFIG_HOME`, if that is set. */
  readonly followsXdg?: true
  /** The file in that directory. */
  readonly user: string
  /** The file below a project; by default in a directory of the same name. */
  readonly project?: string
  /** The user's own file below a project; absent if the agent reads none. */
  readonly local?: string
  /** In a linked worktree, the agent reads the files of the checkout that the worktree was made from. */
  readonly readsMainCheckout?: true
  /** By default a program of the agent's name. */
  readonly programs?: readonly string[]
}

/** The structure of hooks in a settings file. */
export interface SettingsShape {
  /** `groups`: handlers in groups that share a matcher. `flat`: each entry has its own. */
  readonly kind: 'groups' | 'flat'
  /** The property of a handler that contains its command. */
  readonly command: 'command' | 'bash'
  /** The properties that the file needs beside its hooks. */
  readonly root: Readonly<Record<string, number>>
}

/** What the installer needs to know about an agent with settings; see also `Host`. */
export interface HostSettings extends AgentFiles {
  readonly shape: SettingsShape
  /** The properties of a handler that come before its command. */
  fixed?(event: HostEvent): Readonly<Record<string, string>>
  readonly timeout: { readonly property: string; readonly unitMs: 1 | 1000 }
  /** Added to a handler of kind `pre`, makes the agent block when the hook fails; absent if it cannot. */
  readonly failClosed?: Readonly<Record<string, string | boolean>>
  /** A comment makes the agent ignore the whole file, hooks included. */
  readonly strict?: true
}

const groups: SettingsShape = { kind: 'groups', command: 'command', root: {} }
const typeCommand = () => ({ type: 'command' })
const seconds = { property: 'timeout', unitMs: 1000 } as const

export const hostSettings: Readonly<Record<SettingsAgentName, HostSettings>> = {
  claude: {
    directory: '.claude',
    variable: 'CLAUDE_CONFIG_DIR',
    user: 'settings.json',
    local: '.claude/settings.local.json',
    shape: groups,
    fixed: typeCommand,
    timeout: seconds,
    failClosed: { onFailure: 'block' },
    strict: true,
  },
  codex: {
    directory: '.codex',
    variable: 'CODEX_HOME',
    user: 'hooks.json',
    readsMainCheckout: true,
    shape: groups,
    fixed: typeCommand,
    timeout: seconds,
    strict: true,
  },
  cursor: {
    directory: '.cursor',
    user: 'hooks.json',
    programs: ['cursor', 'cursor-agent'],
    shape: { kind: 'flat', command: 'command', root: { version: 1 } },
    timeout: seconds,
    failClosed: { failClosed: true },
  },
  copilot: {
    directory: '.copilot',
    variable: 'COPILOT_HOME',
    // Copilot reads every file in its hooks directory, so stint has one of its own.
    user: 'hooks/stint.json',
    project: '.github/hooks/stint.json',
    shape: { kind: 'flat', command: 'bash', root: { version: 1 } },
    fixed: typeCommand,
    timeout: { property: 'timeoutSec', unitMs: 1000 },
  },
  gemini: {
    directory: '.gemini',
    user: 'settings.json',
    shape: groups,
    // Gemini shows this name in its list of hooks, and disables hooks by it.
    fixed: ({ kind }) => ({ name: `stint-${kind}`, type: 'command' }),
    timeout: { property: 'timeout', unitMs: 1 },
  },
  qwen: {
    directory: '.qwen',
    variable: 'QWEN_HOME',
    user: 'settings.json',
    shape: groups,
    fixed: ({ kind }) => ({ type: 'command', name: `stint-${kind}` }),
    timeout: seconds,
  },
}

export const isSettingsAgent = (host: string): host is SettingsAgentName => Object.hasOwn(hostSettings, host)

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
  const directoryInVariable = variable && process.env[variable]
  if (directoryInVariable && isAbsolute(directoryInVariable)) return directoryInVariable
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
