import type { CommandGroup } from '../../command/define-command.ts'

export const note: CommandGroup = {
  name: 'note',
  summary: 'Notes: a short, durable word to the next holder of a workspace, or to one session.',
  commands: {
    add: {
      summary: 'leave a note',
      load: async () => (await import('./add.ts')).noteAddCommand,
    },
    list: {
      summary: 'the notes that wait for their reader',
      load: async () => (await import('./list.ts')).noteListCommand,
    },
  },
  examples: [
    ['stint note add "the migration is half done, see PLAN.md"', 'for the next session here'],
    ['stint note list', 'what waits here'],
  ],
}
