import { sessionTables } from './store/tables.ts'

/** One step from a schema to the next. Each can be carried out again without harm: a person may do so by hand. */
export interface Migration {
  version: number
  /** The lowest version a program must know to use a schema that has this step: those who know less are turned away. */
  needs: number
  statements: readonly string[]
}

/** Before any step: where the steps are written down. */
export const groundwork: readonly string[] = [
  'CREATE SCHEMA IF NOT EXISTS stint',
  `CREATE TABLE IF NOT EXISTS stint.migration (
  version integer PRIMARY KEY,
  needs integer NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`,
]

/**
 * In order, without gaps. What has been released is never changed, only followed.
 *
 * Rows of the register are small and rewritten all the time: half of each page is left free, so that the next version of a row finds room
 * beside the last, and no index has to be touched.
 */
export const migrations: readonly Migration[] = [
  {
    version: 1,
    needs: 1,
    statements: [
      `CREATE TABLE IF NOT EXISTS stint.register (
  key text PRIMARY KEY,
  epoch bigint NOT NULL CHECK (epoch > 0),
  text text NOT NULL,
  written_at timestamptz NOT NULL
) WITH (fillfactor = 50)`,
      `COMMENT ON TABLE stint.register IS 'Leases. Rows are never deleted: epochs must not start again.'`,
    ],
  },
  // Who knows only leases can go on with them.
  { version: 2, needs: 1, statements: sessionTables },
]

/** The newest version that this program knows. */
export const knownVersion = migrations.length

/** Notes a step down; a second time changes nothing. */
export const recordMigration = ({ version, needs }: Migration): string =>
  `INSERT INTO stint.migration (version, needs) VALUES (${version}, ${needs}) ON CONFLICT DO NOTHING`

/** Everything, for `psql`: whoever runs it a second time changes nothing. */
export function migrationScript(): string {
  const steps = migrations.flatMap((migration) => [...migration.statements, recordMigration(migration)])
  return ['BEGIN', ...groundwork, ...steps, 'COMMIT'].map((statement) => `${statement};\n`).join('')
}
