import { StintError } from '../base/errors/stint-error.ts'
import type { PostgresClient, PostgresPool } from './pool.ts'

/** One step from a version of the schema to the next. It can be repeated: people may run it by hand. */
export interface Migration {
  version: number
  /** The lowest version a program must know to use a schema with this step; older ones are refused. */
  needs: number
  statements: readonly string[]
}

/** Creates the table that records the steps; it comes before the first of them. */
export const createMigrationTable: readonly string[] = [
  'CREATE SCHEMA IF NOT EXISTS stint',
  `CREATE TABLE IF NOT EXISTS stint.migration (
  version integer PRIMARY KEY,
  needs integer NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`,
]

/** A row a record, with the line that a file would have, checksum and hash included. Rows never change. */
const logTable = (name: string): string => `CREATE TABLE IF NOT EXISTS stint.${name} (
  session bigint NOT NULL,
  seq bigint NOT NULL,
  line text NOT NULL,
  blob text,
  PRIMARY KEY (session, seq)
)`

const contentTable = (name: string): string => `CREATE TABLE IF NOT EXISTS stint.${name} (
  session bigint NOT NULL,
  sha256 text NOT NULL,
  content text NOT NULL,
  PRIMARY KEY (session, sha256)
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
  turns bigint NOT NULL,
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
  contentTable('blob'),
  `CREATE TABLE IF NOT EXISTS stint.snapshot (
  session bigint NOT NULL,
  seq bigint NOT NULL,
  body text NOT NULL,
  payloads text[] NOT NULL,
  PRIMARY KEY (session, seq)
)`,
  contentTable('state'),
  `CREATE TABLE IF NOT EXISTS stint.spool (
  session bigint NOT NULL,
  mark text NOT NULL,
  entry text NOT NULL,
  taken_at timestamptz,
  PRIMARY KEY (session, mark)
)`,
  `COMMENT ON TABLE stint.session IS 'Sessions of agents and tools, and who holds each. One row changes with each append.'`,
  `COMMENT ON TABLE stint.journal IS 'What happened in each session, a line a record. Rows are never changed.'`,
  `COMMENT ON TABLE stint.audit IS 'Intents and outcomes, chained by their hashes. Rows are never changed.'`,
]

/**
 * All steps, in order and without gaps. A released step is never changed, only followed by another.
 *
 * Rows of the register are small and rewritten all the time. Half of each page is left free, so that the next
 * version of a row fits on the same page, and PostgreSQL need not update the index.
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
      `COMMENT ON TABLE stint.register IS 'Leases. Only a purge deletes rows, and raises the row swept-until first: epochs must not start again.'`,
    ],
  },
  // A program that knows only leases can still use them.
  { version: 2, needs: 1, statements: sessionTables },
  {
    version: 3,
    needs: 1,
    statements: [
      `CREATE TABLE IF NOT EXISTS stint.waiter (
  key text NOT NULL,
  number bigint NOT NULL,
  text text NOT NULL,
  touched_at timestamptz NOT NULL,
  PRIMARY KEY (key, number)
) WITH (fillfactor = 50)`,
      `COMMENT ON TABLE stint.waiter IS 'Who waits for a lease, in order. A row that was not touched for 15 s counts no more.'`,
    ],
  },
  {
    version: 4,
    needs: 1,
    statements: [
      `CREATE TABLE IF NOT EXISTS stint.activity (
  id bigint GENERATED ALWAYS AS IDENTITY,
  key text NOT NULL,
  line text NOT NULL,
  PRIMARY KEY (key, id)
)`,
      `COMMENT ON TABLE stint.activity IS 'What happened to each lease, the last 1,000 lines of each. Nothing depends on it.'`,
    ],
  },
]

/** The newest version that this program knows. */
export const knownVersion = migrations.length
/** The first version with the register. */
export const registerVersion = 1
/** The first version with the tables of sessions. */
export const sessionVersion = 2

/** Records a step. Repeating it changes nothing. */
export const recordMigration = ({ version, needs }: Migration): string =>
  `INSERT INTO stint.migration (version, needs) VALUES (${version}, ${needs}) ON CONFLICT DO NOTHING`

/** The SQL of all steps, for `psql`. Running it again changes nothing. */
export function migrationScript(): string {
  const steps = migrations.flatMap((migration) => [...migration.statements, recordMigration(migration)])
  return ['BEGIN', ...createMigrationTable, ...steps, 'COMMIT'].map((statement) => `${statement};\n`).join('')
}

/** The schema that a database has; `version` is 0 if it has none. */
export interface SchemaVersion {
  version: number
  needs: number
}

/** Reads the version in two statements: one that names a missing table would fail. */
export async function readSchemaVersion(client: PostgresPool | PostgresClient): Promise<SchemaVersion> {
  const { rows: tables } = await client.query(`SELECT to_regclass('stint.migration') IS NOT NULL AS there`)
  if (tables[0]?.there !== true) return { version: 0, needs: 0 }
  const { rows } = await client.query(
    'SELECT coalesce(max(version), 0) AS version, coalesce(max(needs), 0) AS needs FROM stint.migration',
  )
  return { version: Number(rows[0]?.version ?? 0), needs: Number(rows[0]?.needs ?? 0) }
}

/** `POSTGRES_SCHEMA` if the schema is older than `required`, or too new for this program. */
export function assertSchema(schema: SchemaVersion, required: number): void {
  const { version } = schema
  if (version < required) {
    const problem =
      version === 0
        ? 'has no schema "stint" yet'
        : `has version ${version} of the schema "stint"; ${required} is needed`
    throw new StintError('POSTGRES_SCHEMA', `the database ${problem}`, {
      detail: `schema_version=${version} wanted=${required}`,
    })
  }
  assertSchemaKnown(schema)
}

/** `POSTGRES_SCHEMA` if the schema needs a newer program than this one. */
export function assertSchemaKnown({ version, needs }: SchemaVersion): void {
  if (needs <= knownVersion) return
  throw new StintError(
    'POSTGRES_SCHEMA',
    `the schema "stint" has version ${version}, which needs a newer stint`,
    {
      detail: `schema_version=${version} needs=${needs} known=${knownVersion}`,
      hint: 'Install a newer version of stint.',
    },
  )
}
