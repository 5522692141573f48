import type { CommandGroup } from '../../command/define-command.ts'

export const lock: CommandGroup = {
  name: 'lock',
  summary: 'Claims on workspaces: who may edit what, and for how long.',
  commands: {
    acquire: {
      summary: 'claim a workspace or paths in it',
      load: async () => (await import('./acquire.ts')).lockAcquireCommand,
    },
    refresh: {
      summary: 'extend a claim to its full time',
      load: async () => (await import('./refresh.ts')).lockRefreshCommand,
    },
    release: {
      summary: 'give up a claim',
      load: async () => (await import('./release.ts')).lockReleaseCommand,
    },
    check: {
      summary: 'is the claim still held?',
      load: async () => (await import('./check.ts')).lockCheckCommand,
    },
    status: {
      summary: 'who holds this workspace',
      load: async () => (await import('./status.ts')).lockStatusCommand,
    },
    list: {
      summary: 'all workspaces with claims',
      load: async () => (await import('./list.ts')).lockListCommand,
    },
    history: {
      summary: 'who held this workspace, and who was refused',
      load: async () => (await import('./history.ts')).lockHistoryCommand,
    },
    watch: {
      summary: 'print a line for each change',
      load: async () => (await import('./watch.ts')).lockWatchCommand,
    },
    wait: {
      summary: 'wait until the workspace is free',
      load: async () => (await import('./wait.ts')).lockWaitCommand,
    },
    break: {
      summary: "remove another session's claim",
      load: async () => (await import('./break.ts')).lockBreakCommand,
    },
  },
  examples: [
    ['stint lock acquire --session mine --pid $$ --wait 1m', 'claim this workspace for your shell'],
    ['stint lock status', 'who holds it'],
  ],
}
