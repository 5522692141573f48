import type { CommandGroup } from '../../command/define-command.ts'

export const audit: CommandGroup = {
  name: 'audit',
  summary: 'What was intended and how it ended, in a hash chain that shows every change.',
  commands: {
    show: {
      summary: 'the newest acts and how they ended',
      load: async () => (await import('./show.ts')).auditShowCommand,
    },
    query: {
      summary: 'find lines by time and action',
      load: async () => (await import('./query.ts')).queryCommand,
    },
    verify: {
      summary: 'check that the chain is intact',
      load: async () => (await import('./verify.ts')).auditVerifyCommand,
    },
  },
  examples: [
    ['stint audit show mine', 'what was done'],
    ['stint audit query mine --since 1h --action shell', 'every line of the last hour'],
    ['stint audit query --all --failed --since 7d', 'what went wrong this week, anywhere'],
    ['stint audit verify mine', 'exit 4 if a line was changed, removed, moved or cut off'],
  ],
}
