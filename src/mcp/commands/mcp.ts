import { StintError } from '../../base/errors/stint-error.ts'
import { findClosest } from '../../command/parse-arguments.ts'
import { type CommandGroup, defineBareCommand, type OptionTable } from '../../command/define-command.ts'
import {
  installServer,
  isMcpAgent,
  type McpAgent,
  mcpAgents,
  serversToInspect,
  serversToInstall,
  type ServerTarget,
  uninstallServer,
} from '../install/install-server.ts'
import { findWorkspace } from '../../lease/index.ts'
import { dryRunOption, placeOptions } from '../../hooks/commands/options.ts'
import { changeEach, type ChangesData, renderChanges, warnOnce } from '../../hooks/commands/report.ts'

const mcpAgentPositionals = '[claude|codex|gemini…]'

const { user, project } = placeOptions
const serverPlaceOptions = { user, project } as const satisfies OptionTable

const installCommand = defineBareCommand({
  name: 'install',
  summary:
    'Makes agents start the MCP server of stint. Without a name: Claude Code, Codex and Gemini CLI, as far as you have them.',
  positionals: mcpAgentPositionals,
  options: { ...serverPlaceOptions, ...dryRunOption },
  examples: [
    ['stint mcp install', 'for every agent found, in your own settings'],
    ['stint mcp install claude --project', "in this project's .mcp.json, for everyone"],
    ['stint mcp install --dry-run', 'see the changes first'],
  ],
  async run({ warn, say, screen }, { options, positionals }): Promise<InstallData> {
    const dryRun = options['dry-run']
    const targets = serversToInstall(
      readMcpAgents(positionals),
      readServerPlace(options),
      findWorkspace().path,
    )
    const choices = { dryRun, warn: warnOnce(warn) }
    const data = changeEach(targets, { list: 'servers', dryRun, say, screen }, (target) => [
      installServer(target, choices),
    ])
    return { ...data, next: dryRun ? [] : nextSteps(targets) }
  },
  render: ({ servers, dry_run, next }, { columns }) => renderChanges(servers, dry_run, columns, next),
})

type InstallData = ChangesData<'servers'> & { next: string[] }

/** The steps that are left to the user after an installation. */
function nextSteps(targets: readonly ServerTarget[]): string[] {
  const isShared = (agent: McpAgent): boolean =>
    targets.some((target) => target.agent === agent && target.place === 'project')
  return [
    ...(isShared('claude')
      ? ['Claude Code asks each user once whether to start the servers of a project.']
      : []),
    ...(isShared('codex') ? ['Codex reads the settings of a project only if its user trusts it.'] : []),
    'An agent that runs already must be started again. `stint hook status` shows where the server is installed.',
  ]
}

const uninstallCommand = defineBareCommand({
  name: 'uninstall',
  summary:
    'Removes the MCP server from the settings of agents, wherever it is: your own, and those of this project.',
  positionals: mcpAgentPositionals,
  options: { ...serverPlaceOptions, ...dryRunOption },
  examples: [
    ['stint mcp uninstall', 'wherever it can be seen from here'],
    ['stint mcp uninstall codex', 'only from the settings of Codex'],
  ],
  async run({ say, screen }, { options, positionals }): Promise<ChangesData<'servers'>> {
    const dryRun = options['dry-run']
    const targets = serversToInspect(
      readMcpAgents(positionals),
      readServerPlace(options),
      findWorkspace().path,
    )
    const data = changeEach(targets, { list: 'servers', dryRun, say, screen }, (target) => [
      uninstallServer(target, dryRun),
    ])
    return { ...data, servers: data.servers.filter(({ outcome }) => outcome !== 'absent') }
  },
  render: ({ servers, dry_run }, { columns }) =>
    servers.length === 0 ? 'the MCP server is not installed here' : renderChanges(servers, dry_run, columns),
})

/** The place that the user asked for, if any. */
function readServerPlace(options: Record<ServerTarget['place'], boolean>): ServerTarget['place'] | undefined {
  if (options.user && options.project)
    throw new StintError('ARG_ERROR', '--user and --project exclude each other')
  return options.user ? 'user' : options.project ? 'project' : undefined
}

function readMcpAgents(words: readonly string[]): McpAgent[] {
  const unknown = words.find((word) => !isMcpAgent(word))
  if (unknown === undefined) return [...new Set(words.filter(isMcpAgent))]
  const near = findClosest(unknown.toLowerCase(), mcpAgents)
  throw new StintError(
    'ARG_ERROR',
    `there is no agent ${JSON.stringify(unknown)} to install the server for`,
    {
      hint:
        near === undefined
          ? `There are ${mcpAgents.join(', ')}; docs/mcp.md has the line for other agents.`
          : `Did you mean ${near}?`,
    },
  )
}

export const mcp: CommandGroup = {
  name: 'mcp',
  summary:
    'A server of the Model Context Protocol, with which agents see who works where, claim files and wait.',
  defaultCommand: {
    summary: 'serve a client on stdin and stdout',
    load: async () => (await import('../serve.ts')).mcpServeCommand,
  },
  commands: {
    install: {
      summary: 'make agents start the server',
      load: async () => installCommand,
    },
    uninstall: {
      summary: 'remove it from their settings, and nothing else',
      load: async () => uninstallCommand,
    },
  },
  examples: [
    ['stint mcp install', 'for every agent you have'],
    ['stint mcp', 'what an MCP client starts; it ends with its client'],
  ],
}
