import type { CommandGroup } from '../../command/spec.ts'

export const postgres: CommandGroup = {
  name: 'postgres',
  summary: 'Leases in PostgreSQL, for more than one machine.',
  commands: {
    migrate: {
      summary: 'make or update the schema',
      load: async () => (await import('./migrate.ts')).migrateCommand,
    },
  },
  examples: [['stint postgres migrate --print-sql', 'what it does, for whoever runs the database']],
}
