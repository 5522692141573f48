import { StintError } from '../base/errors/stint-error.ts'
import type { PostgresClient, PostgresPool } from './pool.ts'

/** The version of the schema that this program creates and uses. A database with another one is refused. */
export const schemaVersion = 7

/** Creates the table that has the version. It comes before all others: `migrate` locks it. */
export const versionTable: readonly string[] = [
  'CREATE SCHEMA IF NOT EXISTS stint',
  `CREATE TABLE IF NOT EXISTS stint.migration (
  version integer PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`,
]

/** A row a record, with the line that a file would have, checksum and hash included. Rows never change. */
const logTable = (name: string): string => `CREATE TABLE IF NOT EXISTS stint.${name} (
  session bigint NOT NULL,
  seq bigint NOT NULL,
  line text NOT NULL,
  PRIMARY KEY (session, seq)
)`

/**
 * An append changes one small row, in `stint.session`, and half of each of its pages is left free for that;
 * data that is large or never changes is in the other tables. Their rows refer to the session by its `key`,
 * not by its id: a removed session frees its id, and keeps its rows until they are purged.
 */
const sessionTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS stint.session (
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text NOT NULL,
  store text NOT NULL,
  manifest text NOT NULL,
  rev integer NOT NULL,
  tool text,
  title text,
  workspace text,
  epoch bigint NOT NULL,
  token text,
  holder text,
  since timestamptz,
  beat timestamptz,
  head_seq bigint NOT NULL,
  head_sum text NOT NULL,
  audit_seq bigint NOT NULL,
  audit_head text NOT NULL,
  bytes bigint NOT NULL,
  last_at timestamptz NOT NULL,
  damage text,
  removed_at timestamptz
) WITH (fillfactor = 50)`,
  'CREATE UNIQUE INDEX IF NOT EXISTS session_id ON stint.session (id) WHERE removed_at IS NULL',
  'CREATE INDEX IF NOT EXISTS session_workspace ON stint.session (workspace)',
  logTable('journal'),
  logTable('audit'),
  `CREATE TABLE IF NOT EXISTS stint.revision (
  session bigint NOT NULL,
  rev integer NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (session, rev)
)`,
  `CREATE TABLE IF NOT EXISTS stint.blob (
  session bigint NOT NULL,
  sha256 text NOT NULL,
  content text NOT NULL,
  PRIMARY KEY (session, sha256)
)`,
  `CREATE TABLE IF NOT EXISTS stint.state (
  session bigint NOT NULL,
  name text NOT NULL,
  content text NOT NULL,
  PRIMARY KEY (session, name)
) WITH (fillfactor = 50)`,
  `COMMENT ON TABLE stint.session IS 'Sessions of agents and tools, and who holds each. One row changes with each append.'`,
  `COMMENT ON TABLE stint.journal IS 'What happened in each session, a line a record. Rows are never changed.'`,
  `COMMENT ON TABLE stint.state IS 'The values of the slots, a row each, and in the row without a name the rest of the snapshot. A cache of the logs.'`,
  `COMMENT ON TABLE stint.audit IS 'Intents and outcomes, chained by their hashes. Rows are never changed.'`,
]

/**
 * Rows of the register are small and rewritten all the time. Half of each page is left free, so that the next
 * version of a row fits on the same page, and PostgreSQL need not update the index.
 */
const leaseTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS stint.register (
  key text PRIMARY KEY,
  epoch bigint NOT NULL CHECK (epoch > 0),
  text text NOT NULL,
  written_at timestamptz NOT NULL
) WITH (fillfactor = 50)`,
  `COMMENT ON TABLE stint.register IS 'Leases, a row each. Rows are never deleted: an epoch must not come again.'`,
  `CREATE TABLE IF NOT EXISTS stint.waiter (
  key text NOT NULL,
  id text NOT NULL,
  text text NOT NULL,
  added_at timestamptz NOT NULL,
  PRIMARY KEY (key, id)
)`,
  `COMMENT ON TABLE stint.waiter IS 'The processes that wait for a lease. Leases do not depend on it.'`,
  `CREATE TABLE IF NOT EXISTS stint.activity (
  id bigint GENERATED ALWAYS AS IDENTITY,
  key text NOT NULL,
  line text NOT NULL,
  PRIMARY KEY (key, id)
)`,
  `COMMENT ON TABLE stint.activity IS 'What happened to each lease, the last 1,000 lines of each. Nothing depends on it.'`,
]

/** Creates all tables, and then notes the version. Repeating it changes nothing. */
export const schemaTables: readonly string[] = [
  ...leaseTables,
  ...sessionTables,
  `INSERT INTO stint.migration (version) VALUES (${schemaVersion}) ON CONFLICT DO NOTHING`,
]

/** The SQL that creates the schema, for `psql`. Running it again changes nothing. */
export const migrationScript = (): string =>
  ['BEGIN', ...versionTable, ...schemaTables, 'COMMIT'].map((statement) => `${statement};\n`).join('')

/** The version of the schema that a database has; 0 if it has none. */
export async function readSchemaVersion(client: PostgresPool | PostgresClient): Promise<number> {
  // First, because a statement that names a missing table fails.
  const { rows: tables } = await client.query(`SELECT to_regclass('stint.migration') IS NOT NULL AS there`)
  if (tables[0]?.there !== true) return 0
  const { rows } = await client.query('SELECT coalesce(max(version), 0) AS version FROM stint.migration')
  return Number(rows[0]?.version ?? 0)
}

/** `POSTGRES_SCHEMA` unless the schema has the version that this program uses. */
export function assertSchema(version: number): void {
  if (version === schemaVersion) return
  const detail = `schema_version=${version} wanted=${schemaVersion}`
  if (version === 0)
    throw new StintError('POSTGRES_SCHEMA', 'the database has no schema "stint" yet', { detail })
  const problem = `the schema "stint" has version ${version}, and this stint uses version ${schemaVersion}`
  throw new StintError('POSTGRES_SCHEMA', problem, {
    detail,
    hint:
      version > schemaVersion
        ? 'Install a newer version of stint.'
        : 'Use a new schema: rename the old one (ALTER SCHEMA stint RENAME TO stint_old), then run `stint postgres migrate`.',
  })
}
