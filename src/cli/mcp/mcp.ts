import type { CommandGroup } from '../../command/define-command.ts'

const serve = {
  summary: 'serve a client on stdin and stdout, as `stint mcp` does',
  load: async () => (await import('./serve.ts')).mcpServeCommand,
}

export const mcp: CommandGroup = {
  name: 'mcp',
  summary:
    'A server of the Model Context Protocol, with which agents see who works where, claim files and wait.',
  defaultCommand: serve,
  commands: { serve },
  examples: [['stint mcp', 'what an MCP client starts; it ends with its client']],
}
