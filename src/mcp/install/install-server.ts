import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { realParentPath } from '../../base/fs/paths.ts'
import {
  agentHome,
  type Change,
  decode,
  findOnPath,
  hasAgent,
  installPart,
  ownProgram,
  type Problem,
  readSettingsFile,
  type SettingsPart,
  uninstallPart,
  unreadableBy,
} from '../../hooks/index.ts'
import { jsonEntry, jsonServer, readStart, serverStart, tomlEntry, tomlServer } from './server-settings.ts'

/** A settings file that can start stint's MCP server. */
export interface ServerTarget extends Pick<Change, 'path'> {
  agent: McpAgent
  place: 'user' | 'project'
}

export type McpAgent = keyof typeof mcpHosts

/** Where an agent reads its servers from, and how an entry is written there. */
interface McpHost {
  userFile(): string
  /** Below a project. */
  projectFile: string
  part(program: readonly string[]): SettingsPart
  entryIn(text: string): unknown
}

/** The longest wait that a tool offers, and a minute: agents end calls that take longer than their limit. */
const toolLimitSeconds = 3660

const mcpHosts = {
  claude: {
    userFile() {
      const given = process.env.CLAUDE_CONFIG_DIR
      return join(given && isAbsolute(given) ? given : homedir(), '.claude.json')
    },
    projectFile: '.mcp.json',
    part: (program) => jsonServer(serverStart(program), { type: 'stdio' }),
    entryIn: jsonEntry,
  },
  codex: {
    userFile: () => join(agentHome('codex'), 'config.toml'),
    projectFile: '.codex/config.toml',
    // Codex passes a server only the variables that are named, and ends calls after a minute.
    part: (program) =>
      tomlServer(serverStart(program), {
        env_vars: ['STINT_HOME', 'STINT_STORE'],
        tool_timeout_sec: toolLimitSeconds,
      }),
    entryIn: tomlEntry,
  },
  gemini: {
    userFile: () => join(agentHome('gemini'), 'settings.json'),
    projectFile: '.gemini/settings.json',
    part: (program) => jsonServer(serverStart(program), { timeout: toolLimitSeconds * 1000 }),
    entryIn: jsonEntry,
  },
} as const satisfies Record<string, McpHost>

const mcpHost = (agent: McpAgent): McpHost => mcpHosts[agent]

export const mcpAgents = Object.keys(mcpHosts) as McpAgent[]

export const isMcpAgent = (name: string): name is McpAgent => Object.hasOwn(mcpHosts, name)

/** The files for an installation: of the named agents, or of every agent that the user has. */
export function serversToInstall(
  agents: readonly McpAgent[],
  place: ServerTarget['place'] | undefined,
  workspace: string,
): ServerTarget[] {
  const chosen = agents.length > 0 ? agents : mcpAgents.filter(hasAgent)
  if (chosen.length > 0) return chosen.map((agent) => targetOf(agent, place ?? 'user', workspace))
  throw new StintError('NOT_FOUND', 'no agent was found to install the MCP server for', {
    hint: `Name one: ${mcpAgents.join(', ')}.`,
  })
}

/** Every possible file of the named agents, or of all; in the home directory, a file counts as the user's. */
export function serversToInspect(
  agents: readonly McpAgent[],
  place: ServerTarget['place'] | undefined,
  workspace: string,
): ServerTarget[] {
  const places = place === undefined ? (['user', 'project'] as const) : [place]
  const chosen = agents.length > 0 ? agents : mcpAgents
  const all = chosen.flatMap((agent) => places.map((each) => targetOf(agent, each, workspace)))
  const files = all.map(({ path }) => realParentPath(path))
  return all.filter((_, index) => files.indexOf(files[index] ?? '') === index)
}

function targetOf(agent: McpAgent, place: ServerTarget['place'], workspace: string): ServerTarget {
  const { userFile, projectFile } = mcpHosts[agent]
  return { agent, place, path: place === 'project' ? join(workspace, projectFile) : userFile() }
}

/** Makes an agent start stint's MCP server, or updates how it does. */
export function installServer(
  { agent, place, path }: ServerTarget,
  { dryRun, warn }: { dryRun: boolean; warn(message: string): void },
): Change {
  const { program, warning } = ownProgram('stint', place === 'project')
  if (warning !== undefined) warn(warning)
  const change = installPart({ agent, place, path }, mcpHost(agent).part(program), dryRun)
  const problem = agent === 'codex' ? undefined : unreadableBy(agent, change.after)
  if (problem !== undefined) warn(`${path}: ${problem}`)
  return change
}

/** Removes stint's server from the settings of an agent, and nothing else. */
export const uninstallServer = ({ agent, place, path }: ServerTarget, dryRun: boolean): Change =>
  uninstallPart({ agent, place, path }, mcpHost(agent).part([]), dryRun)

/** The server of stint in one settings file. */
export interface ServerInstallation extends Pick<ServerTarget, 'agent' | 'place' | 'path'> {
  /** `foreign`: the name starts another program. */
  state: 'installed' | 'absent' | 'foreign' | 'broken' | 'unreadable'
  wrong?: Problem
}

/** The servers in the files that `serversToInspect` lists. */
export const installedServers = (...where: Parameters<typeof serversToInspect>): ServerInstallation[] =>
  serversToInspect(...where)
    .map(({ agent, place, path }) => ({ agent, place, path, ...inspectServer(agent, path) }))
    .filter(({ state }) => state !== 'absent')

/** Reads how an agent starts the server; changes nothing. */
function inspectServer(agent: McpAgent, path: string): Pick<ServerInstallation, 'state' | 'wrong'> {
  try {
    const { bytes } = readSettingsFile(path)
    const { part, entryIn } = mcpHost(agent)
    const { word, emptyText } = part([])
    const entry = bytes?.includes(word) ? entryIn(decode(bytes, emptyText)) : undefined
    if (entry === undefined) return { state: 'absent' }
    const install = `stint mcp install ${agent}`
    const start = readStart(entry)
    if (start === undefined) {
      const problem = 'its MCP server named stint is not one that stint installed'
      return { state: 'foreign', wrong: { problem, fix: `give it another name, then: ${install}` } }
    }
    const words = [start.command, ...start.args]
    const missing = words.slice(0, words.indexOf('mcp')).find(isMissing)
    if (missing === undefined) return { state: 'installed' }
    return { state: 'broken', wrong: { problem: `it starts ${missing}, which does not exist`, fix: install } }
  } catch (error) {
    if (!(error instanceof StintError)) throw error
    return { state: 'unreadable', wrong: { problem: error.message, fix: 'repair the file' } }
  }
}

const isMissing = (word: string): boolean =>
  isAbsolute(word) ? !existsSync(word) : findOnPath(word) === undefined
