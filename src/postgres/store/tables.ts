/** A log: a row a record, and in it the very line that a file would have, with its sum and, in the audit log, its chain. Nothing is ever changed in it. */
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
 * Sessions. What each append changes is one small row, half of whose page is left free; what is large, or never changes, lies elsewhere. Rows of a
 * session are tied to it by its `key`, not by its id: a removed session gives its id free and keeps its rows until somebody asks to have them deleted.
 */
export const sessionTables: readonly string[] = [
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
