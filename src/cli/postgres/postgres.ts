import type { CommandGroup } from '../../command/define-command.ts'

export const postgres: CommandGroup = {
  name: 'postgres',
  summary: 'Leases and sessions in PostgreSQL, for more than one machine.',
  commands: {
    migrate: {
      summary: 'create the schema',
      load: async () => (await import('./migrate.ts')).migrateCommand,
    },
    purge: {
      summary: 'delete removed sessions for good',
      load: async () => (await import('./purge.ts')).purgeCommand,
    },
  },
  examples: [['stint postgres migrate --print-sql', 'show the SQL, for a database administrator']],
}
