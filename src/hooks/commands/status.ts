import { defineBareCommand } from '../../command/define-command.ts'
import { type CodexTrust, describeTrust, trustOf } from '../install/codex-trust.ts'
import { doublesOf } from '../install/examine.ts'
import { type Installation, inspect, type Problem } from '../install/inspect.ts'
import type { TargetName } from '../hosts/host.ts'
import { agentTitle } from '../hosts/hosts.ts'
import { allAgents, hasAgent, type InstallPlace } from '../install/agents.ts'
import { installedServers, isMcpAgent, type ServerInstallation } from '../../mcp/install/install-server.ts'
import { choiceFlags } from '../install/command-text.ts'
import { targetsToInspect } from '../install/target.ts'
import { findWorkspace } from '../../lease/index.ts'
import { visibleText } from '../../base/text/escape.ts'
import { wrap } from '../../base/text/wrap.ts'
import { showWork } from '../../cli/terminal/progress.ts'
import { shortenPaths, shortPath } from '../../cli/text/format.ts'
import { type Column, table } from '../../cli/text/table.ts'
import { agentPositionals, readAgents, readPlace, placeOptions } from './options.ts'

interface StatusData {
  /** `notes`: what could be better, such as hooks that are installed twice. */
  hooks: (Installation & { notes: Problem[]; trust?: CodexTrust })[]
  /** The user's agents that have no hooks. */
  without: string[]
  /** The MCP server of stint in the settings of agents. */
  servers: ServerInstallation[]
}

export const hookStatusCommand = defineBareCommand({
  name: 'status',
  summary:
    'Shows where hooks and the MCP server are installed, with which options, and whether Codex trusts its hooks. `stint doctor` tries them.',
  positionals: agentPositionals,
  options: placeOptions,
  examples: [['stint hook status', 'all hooks that can be seen from here']],
  async run(context, { options, positionals }): Promise<StatusData> {
    const agents = readAgents(positionals)
    const place = readPlace(options)
    const workspace = findWorkspace().path
    const installed = targetsToInspect(agents, place, workspace)
      .map(inspect)
      .filter(({ state }) => state !== 'absent')
    const hooks = await showWork('asking Codex', context, () =>
      Promise.all(installed.map((hook) => withNotes(hook, workspace))),
    )
    const has = new Set(hooks.map(({ agent }) => agent))
    const wanted = agents.length === 0 ? allAgents.filter((agent) => hasAgent(agent)) : agents
    return {
      hooks,
      without: wanted.filter((agent) => !has.has(agent)),
      servers: serversOf(agents, place, workspace),
    }
  },
  render: ({ hooks, without, servers }, { columns }) =>
    [
      ...table(hooks, installationColumns, columns).flatMap((line, index) => {
        const { problem, notes = [] } = hooks[index - 1] ?? {}
        const remarks = [
          ...(problem === undefined ? [] : [problem]),
          ...notes.map((it) => `${it.problem}; ${it.fix}`),
        ]
        return [
          line,
          ...remarks.flatMap((text) => wrapBelow(shortenPaths(visibleText(text), columns - 2), columns)),
        ]
      }),
      ...without.map((agent) => `${agentTitle(agent)}: no hooks (\`stint hook install ${agent}\`)`),
      ...servers.flatMap((server) => wrap(shortenPaths(describeServer(server), columns), columns, 2)),
    ].join('\n') || 'no agents and no hooks were found here',
})

async function withNotes(hook: Installation, workspace: string): Promise<StatusData['hooks'][number]> {
  const trust = await trustOf(hook, workspace)
  const obstacle = describeTrust(trust)
  const notes = [...(obstacle === undefined ? [] : [obstacle]), ...doublesOf(hook, workspace)]
  return { ...hook, notes, ...(trust !== undefined && { trust }) }
}

function serversOf(agents: readonly TargetName[], place: InstallPlace | undefined, workspace: string) {
  const mcpAgents = agents.filter(isMcpAgent)
  const hasNone = place === 'local' || (agents.length > 0 && mcpAgents.length === 0)
  return hasNone ? [] : installedServers(mcpAgents, place, workspace)
}

function describeServer({ agent, path, wrong }: ServerInstallation): string {
  const at = `${agentTitle(agent)}: MCP server in ${shortPath(path)}`
  return visibleText(wrong === undefined ? at : `${at}: ${wrong.problem}; ${wrong.fix}`)
}

const installationColumns: Column<Installation>[] = [
  { title: 'AGENT', cell: ({ agent }) => agentTitle(agent) },
  { title: 'STATE', cell: ({ state }) => state },
  { title: 'FILE', cell: ({ path }) => shortPath(path), cut: 'middle', least: 20 },
  { title: 'OPTIONS', cell: ({ choices }) => choiceFlags(choices).join(' '), cut: 'end', least: 16 },
]

const wrapBelow = (text: string, columns: number): string[] =>
  wrap(text, columns - 2).map((line) => `  ${line}`)
