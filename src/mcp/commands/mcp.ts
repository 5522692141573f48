import type { CommandGroup } from '../../command/define-command.ts'

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
      load: async () => (await import('./install.ts')).mcpInstallCommand,
    },
    uninstall: {
      summary: 'remove it from their settings, and nothing else',
      load: async () => (await import('./install.ts')).mcpUninstallCommand,
    },
  },
  examples: [
    ['stint mcp install', 'for every agent you have'],
    ['stint mcp', 'what an MCP client starts; it ends with its client'],
  ],
}
