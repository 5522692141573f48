import { visibleText } from '../../base/text/escape.ts'
import { wrap } from '../../base/text/wrap.ts'
import { defineBareCommand } from '../../command/define-command.ts'
import { hasAgent } from '../../hook-install/agents.ts'
import { inspectServer, type ServerInstallation } from '../../hook-install/mcp/install-server.ts'
import { mcpAgents, serversToInspect } from '../../hook-install/mcp/install-server.ts'
import { agentTitle } from '../../hook/hosts.ts'
import { findWorkspace } from '../../lease/index.ts'
import { shortPath } from '../text/format.ts'
import { type Column, table } from '../text/table.ts'
import { mcpAgentPositionals, readMcpAgents, readServerPlace, serverPlaceOptions } from './install.ts'

interface StatusData {
  servers: ServerInstallation[]
  /** The user's agents that do not start the server. */
  without: string[]
}

export const mcpStatusCommand = defineBareCommand({
  name: 'status',
  summary: 'Shows which agents start the MCP server of stint, and how.',
  positionals: mcpAgentPositionals,
  options: serverPlaceOptions,
  examples: [['stint mcp status', 'all that can be seen from here']],
  run(_, { options, positionals }): StatusData {
    const agents = readMcpAgents(positionals)
    const servers = serversToInspect(agents, readServerPlace(options), findWorkspace().path)
      .map(inspectServer)
      .filter(({ state }) => state !== 'absent')
    const asked = agents.length > 0 ? agents : mcpAgents.filter(hasAgent)
    return { servers, without: asked.filter((name) => !servers.some(({ agent }) => agent === name)) }
  },
  render: ({ servers, without }, { columns }) =>
    [
      ...table(servers, serverColumns, columns).flatMap((line, index) => {
        const { problem } = servers[index - 1] ?? {}
        const remark = problem === undefined ? [] : wrap(visibleText(problem), columns - 2)
        return [line, ...remark.map((text) => `  ${text}`)]
      }),
      ...without.map((agent) => `${agentTitle(agent)}: no server (\`stint mcp install ${agent}\`)`),
    ].join('\n') || 'no agent was found here',
})

const serverColumns: Column<ServerInstallation>[] = [
  { title: 'AGENT', cell: ({ agent }) => agentTitle(agent) },
  { title: 'STATE', cell: ({ state }) => state },
  { title: 'FILE', cell: ({ path }) => shortPath(path), cut: 'middle', least: 20 },
  { title: 'COMMAND', cell: ({ command }) => command.join(' '), cut: 'middle', least: 20 },
]
