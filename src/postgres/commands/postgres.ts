import { type CommandGroup, defineBareCommand } from '../../command/define-command.ts'
import { migrate } from '../migrate.ts'
import { migrationScript } from '../schema.ts'
import { needServer, storeOption } from '../../cli/store.ts'
import { openPool } from './open-pool.ts'
import { formatDuration } from '../../base/text/duration.ts'
import { purge, defaultPurgeAgeMs } from '../store/purge.ts'
import { plural } from '../../cli/text/format.ts'
import { confirm } from '../../cli/terminal/print.ts'

const migrateCommand = defineBareCommand({
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

const purgeCommand = defineBareCommand({
  name: 'purge',
  summary:
    'Permanently deletes sessions that `stint sessions rm` has removed, and claims of sessions that are gone. Nothing else ever deletes a record; the role must be allowed to.',
  options: {
    'older-than': {
      type: 'duration',
      value: 'D',
      help: 'only sessions that were removed longer ago than this (30d)',
    },
    yes: { type: 'boolean', help: 'do not ask' },
    ...storeOption,
  },
  examples: [
    ['stint postgres purge --yes', 'sessions removed more than 30 days ago'],
    ['stint postgres purge --older-than 0s --yes', 'all removed sessions'],
  ],
  async run({ warn }, { options }) {
    const url = needServer(options.store, warn)
    const { 'older-than': olderThanMs = defaultPurgeAgeMs } = options
    const question = `Delete every session that was removed more than ${formatDuration(olderThanMs)} ago for good?`
    await confirm(options.yes, 'a purge', question)
    return await purge({ pool: openPool(url), olderThanMs })
  },
  render: ({ sessions, records, claims }) =>
    `${plural(sessions, 'session')} deleted, with ${plural(records, 'record')}; ${plural(claims, 'claim')} of sessions that are gone`,
})

export const postgres: CommandGroup = {
  name: 'postgres',
  summary: 'Leases and sessions in PostgreSQL, for more than one machine.',
  commands: {
    migrate: {
      summary: 'create the schema',
      load: async () => migrateCommand,
    },
    purge: {
      summary: 'delete removed sessions for good',
      load: async () => purgeCommand,
    },
  },
  examples: [['stint postgres migrate --print-sql', 'show the SQL, for a database administrator']],
}
