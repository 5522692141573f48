import type { CommandGroup } from '../../command/define-command.ts'

export const vaultCommands: CommandGroup = {
  name: 'vault',
  summary:
    "The agents' conversations, kept: agents delete or lose their transcripts, and the vault has them.",
  everyday: ['status', 'sync', 'list', 'show', 'restore'],
  commands: {
    status: {
      summary: 'what is kept, what is at risk, what is lost',
      load: async () => (await import('./list.ts')).vaultStatusCommand,
    },
    sync: {
      summary: 'copy what is new',
      load: async () => (await import('./change.ts')).vaultSyncCommand,
    },
    list: {
      summary: 'the newest conversations',
      load: async () => (await import('./list.ts')).vaultListCommand,
    },
    show: {
      summary: 'who said what in one of them',
      load: async () => (await import('./read.ts')).vaultShowCommand,
    },
    restore: {
      summary: 'give one back to its agent',
      load: async () => (await import('./change.ts')).vaultRestoreCommand,
    },
    scan: {
      summary: 'find tokens and other secrets in them',
      load: async () => (await import('./read.ts')).vaultScanCommand,
    },
    rm: {
      summary: 'remove some for good',
      load: async () => (await import('./change.ts')).vaultRmCommand,
    },
  },
  examples: [
    ['stint vault sync', 'copy the conversations of all agents'],
    ['stint vault list --lost', 'those that only the vault has'],
    ['stint vault restore 3f6c', 'and continue it'],
  ],
}
