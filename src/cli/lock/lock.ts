import type { CommandGroup } from '../../command/define-command.ts'

export const lock: CommandGroup = {
  name: 'lock',
  summary: 'Claims on workspaces: who may edit what, for how long.',
  commands: {
    acquire: {
      summary: 'claim a workspace or paths in it',
      load: async () => (await import('./acquire.ts')).acquireCommand,
    },
    refresh: {
      summary: 'extend a claim to its full time',
      load: async () => (await import('./refresh.ts')).refreshCommand,
    },
    release: { summary: 'give up a claim', load: async () => (await import('./release.ts')).releaseCommand },
    check: {
      summary: 'is the claim still held?',
      load: async () => (await import('./check.ts')).checkCommand,
    },
    status: {
      summary: 'who holds this workspace',
      load: async () => (await import('./status.ts')).statusCommand,
    },
    list: {
      summary: 'all workspaces with claims',
      load: async () => (await import('./list.ts')).listCommand,
    },
    watch: {
      summary: 'print a line for each change',
      load: async () => (await import('./watch.ts')).watchCommand,
    },
    break: {
      summary: "remove another session's claim",
      load: async () => (await import('./break.ts')).breakCommand,
    },
  },
  examples: [
    ['stint lock acquire --session mine --pid $$ --wait 1m', 'claim this workspace for your shell'],
    ['stint lock status', 'who holds it'],
  ],
}
