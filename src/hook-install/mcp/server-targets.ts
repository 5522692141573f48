import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { realParentPath } from '../../base/fs/paths.ts'
import { agentHome, hasAgent } from '../agents.ts'
import type { Change } from '../change.ts'
import type { SettingsPart } from '../settings/change-settings.ts'
import { jsonEntry, jsonServer } from './json-server.ts'
import { serverStart } from './server-entry.ts'
import { tomlEntry, tomlServer } from './toml-server.ts'

/** A settings file that can start stint's MCP server. */
export interface ServerTarget extends Pick<Change, 'path'> {
  agent: McpAgent
  place: 'user' | 'project'
  /** The innermost directory that stays when the file goes. */
  keep: string
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
      tomlServer(serverStart(program), [
        'env_vars = ["STINT_HOME", "STINT_STORE"]',
        `tool_timeout_sec = ${toolLimitSeconds}`,
      ]),
    entryIn: tomlEntry,
  },
  gemini: {
    userFile: () => join(agentHome('gemini'), 'settings.json'),
    projectFile: '.gemini/settings.json',
    part: (program) => jsonServer(serverStart(program), { timeout: toolLimitSeconds * 1000 }),
    entryIn: jsonEntry,
  },
} as const satisfies Record<string, McpHost>

export const mcpHost = (agent: McpAgent): McpHost => mcpHosts[agent]

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
  if (place === 'project') return { agent, place, path: join(workspace, projectFile), keep: workspace }
  const path = userFile()
  return { agent, place, path, keep: dirname(path) }
}
