import type { CommandGroup } from '../../command/define-command.ts'

export const lock: CommandGroup = {
  name: 'lock',
  summary: 'Claims on workspaces: who may edit what, and for how long.',
  commands: {
    status: {
      summary: 'who holds this workspace',
      load: async () => (await import('./status.ts')).lockStatusCommand,
    },
    acquire: {
      summary: 'claim a workspace or paths in it',
      load: async () => (await import('./acquire.ts')).lockAcquireCommand,
    },
    release: {
      summary: 'give up a claim',
      load: async () => (await import('./end-claim.ts')).lockReleaseCommand,
    },
    wait: {
      summary: 'wait until the workspace is free',
      load: async () => (await import('./wait.ts')).lockWaitCommand,
    },
    history: {
      summary: 'who held this workspace, and who was refused',
      load: async () => (await import('./history.ts')).lockHistoryCommand,
    },
    break: {
      summary: "remove another session's claim",
      load: async () => (await import('./end-claim.ts')).lockBreakCommand,
    },
  },
  examples: [
    ['stint lock status', 'who holds this workspace'],
    ['stint lock acquire --ttl 1h', 'you edit here for an hour'],
  ],
}
