import type { CommandGroup } from '../../command/define-command.ts'

export const sessions: CommandGroup = {
  name: 'sessions',
  summary: 'Durable records of what tools and agents did: look at them, fork, verify and repair them.',
  everyday: ['list', 'show', 'tail', 'search'],
  commands: {
    list: {
      summary: 'the newest sessions, or the largest',
      load: async () => (await import('./list.ts')).listCommand,
    },
    show: {
      summary: 'everything about one session',
      load: async () => (await import('./show.ts')).showCommand,
    },
    tail: { summary: 'its newest events, or all', load: async () => (await import('./show.ts')).tailCommand },
    search: {
      summary: 'find a text in all of them',
      load: async () => (await import('./search.ts')).searchCommand,
    },
    append: { summary: 'add an event', load: async () => (await import('./append.ts')).appendCommand },
    fork: { summary: 'copy it, up to a record', load: async () => (await import('./copy.ts')).forkCommand },
    verify: {
      summary: 'check that everything is there',
      load: async () => (await import('./verify.ts')).verifyCommand,
    },
    repair: {
      summary: 'copy what is intact of a damaged one',
      load: async () => (await import('./verify.ts')).repairCommand,
    },
    copy: { summary: 'copy it to another store', load: async () => (await import('./copy.ts')).copyCommand },
    unlock: {
      summary: 'close one whose writer died or cannot be seen',
      load: async () => (await import('./unlock.ts')).unlockCommand,
    },
    rm: { summary: 'move some to the trash', load: async () => (await import('./remove.ts')).rmCommand },
    restore: {
      summary: 'bring one back from the trash',
      load: async () => (await import('./remove.ts')).restoreCommand,
    },
    prune: {
      summary: 'move old ones to the trash',
      load: async () => (await import('./remove.ts')).pruneCommand,
    },
  },
  examples: [
    ['stint sessions list', 'what is there'],
    ['stint sessions tail ses_01J9 -f', 'follow one'],
    ['stint sessions search "out of memory" --since 7d', 'where was that?'],
    ['stint sessions verify --all', 'is everything as it was written?'],
  ],
}
