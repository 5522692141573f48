import type { CommandGroup } from '../../command/spec.ts'

export const hook: CommandGroup = {
  name: 'hook',
  summary: 'Hooks in agents and git: whoever does not hold the workspace does not change it.',
  commands: {
    install: {
      summary: 'have agents ask before they change files',
      load: async () => (await import('./install.ts')).installCommand,
    },
    uninstall: {
      summary: 'remove the hooks, and nothing else',
      load: async () => (await import('./uninstall.ts')).uninstallCommand,
    },
    status: {
      summary: 'where hooks are installed, and how',
      load: async () => (await import('./status.ts')).statusCommand,
    },
    doctor: {
      summary: 'prove that they work, and how fast',
      load: async () => (await import('./doctor.ts')).doctorCommand,
    },
  },
  examples: [
    ['stint hook install', 'for every agent you have'],
    ['stint hook doctor', 'do they work?'],
  ],
}
