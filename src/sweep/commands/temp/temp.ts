import type { CommandGroup } from '../../../command/define-command.ts'

export const temp: CommandGroup = {
  name: 'temp',
  summary: 'What runs have, and have left, in the temp directory.',
  commands: {
    list: {
      summary: 'every scratch, output, trash entry and tracked record',
      load: async () => (await import('./list.ts')).tempListCommand,
    },
    stats: {
      summary: 'figures, now and since the first sweep',
      load: async () => (await import('./stats.ts')).tempStatsCommand,
    },
    watch: {
      summary: 'the figures, kept up to date',
      load: async () => (await import('./stats.ts')).tempWatchCommand,
    },
    why: {
      summary: 'which run made this path?',
      load: async () => (await import('./why.ts')).tempWhyCommand,
    },
    check: {
      summary: 'fail if dead runs have left anything',
      load: async () => (await import('./check.ts')).tempCheckCommand,
    },
  },
  examples: [
    ['stint temp list --sort age', 'the oldest first'],
    ['stint temp why "$TMPDIR/report.json"', 'which run, session and context made it'],
    ['stint temp check', 'exit 3 if cleanup has not worked: for CI'],
  ],
}
