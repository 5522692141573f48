import type { CommandGroup } from '../../command/define-command.ts'

export const hook: CommandGroup = {
  name: 'hook',
  summary: 'Hooks for agents and git: only the session that holds a workspace may change it.',
  commands: {
    install: {
      summary: 'make agents ask before they change files',
      load: async () => (await import('./install.ts')).installCommand,
    },
    uninstall: {
      summary: 'remove the hooks, and nothing else',
      load: async () => (await import('./install.ts')).uninstallCommand,
    },
    status: {
      summary: 'show where hooks are installed, and with which options',
      load: async () => (await import('./status.ts')).hookStatusCommand,
    },
  },
  examples: [
    ['stint hook install', 'for every agent you have'],
    ['stint doctor', 'do they work?'],
  ],
}
