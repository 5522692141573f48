import { defineBareCommand } from '../../command/define-command.ts'
import { migrate } from '../../postgres/migrate.ts'
import { migrationScript } from '../../postgres/schema.ts'
import { needServer, storeOption } from '../store.ts'
import { openPool } from './open-pool.ts'

export const migrateCommand = defineBareCommand({
  name: 'migrate',
  summary: 'Creates the schema "stint". Safe to run again, and on several machines at once.',
  options: {
    ...storeOption,
    'print-sql': { type: 'boolean', help: 'print the SQL for psql instead of running it; needs no server' },
  },
  // The SQL is for psql even if stdout is a pipe, so an envelope is printed only with --json.
  envelope: 'on-request',
  examples: [
    ['STINT_STORE=postgres://admin@db.example/team stint postgres migrate', 'once, before anyone uses it'],
    ['stint postgres migrate --print-sql | psql', 'or run the SQL yourself'],
  ],
  async run({ warn }, { options }) {
    if (options['print-sql']) return { sql: migrationScript() }
    return await migrate({ pool: openPool(needServer(options.store, warn)) })
  },
  render: (answer) => {
    if ('sql' in answer) return answer.sql
    const { created, version } = answer
    return created
      ? `created the schema, version ${version}`
      : `the schema has version ${version}: nothing to do`
  },
})
