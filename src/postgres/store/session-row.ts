import { StintError } from '../../base/errors/stint-error.ts'
import { parseObject } from '../../base/text/fields.ts'
import {
  assertWrittenBy,
  checkSessionId,
  emptyLogEnds,
  type Facts,
  factsOf,
  type Holder,
  type LogEnds,
  type Manifest,
  parseHolder,
  parseManifest,
  sessionNotFound,
  type SessionSummary,
} from '../../session/index.ts'
import { type Database, milliseconds, untilOnDisk } from '../database.ts'
import type { SqlRow } from '../pool.ts'

/** The id of this store, which its manifests name. */
export const postgresId = 'postgres'

/** The row of a session, as it was at one moment of the server's clock. */
export interface SessionRow extends Pick<
  SessionSummary,
  'id' | 'store' | 'tool' | 'title' | 'workspace' | 'bytes' | 'lastAt'
> {
  key: string
  /** The manifest without its revisions, as JSON. */
  manifest: string
  epoch: number
  /** Identifies the present hold; undefined if the session is not held. */
  token?: string
  holder?: RemoteHolder
  ends: LogEnds
  /** The damage that was found in the session. */
  damage?: string
  /** The server's clock, in milliseconds since the epoch. */
  now: number
}

/** A holder that may run on another machine. */
export interface RemoteHolder extends Holder {
  host: string
}

/** SQL for the columns that `parseSessionRow` reads. */
export const rowColumns = `key, id, store, manifest, tool, title, workspace, epoch, token, holder,
  ${milliseconds('since')} AS since, ${milliseconds('beat')} AS beat, head_seq, head_sum, audit_seq, audit_head, bytes,
  ${milliseconds('last_at')} AS last_at, damage, ${milliseconds('clock_timestamp()')} AS now`

/** Selects the rows of sessions that are not removed; `where` may refer to `$1` and so on. */
export const selectSessionRows = (where: string): string =>
  `SELECT ${rowColumns} FROM stint.session WHERE removed_at IS NULL AND ${where}`

export function parseSessionRow(row: SqlRow): SessionRow {
  const text = (name: string): string | undefined => (row[name] as string | null) ?? undefined
  const count = (name: string): number => Number(row[name])
  const epoch = count('epoch')
  return {
    key: String(row.key),
    id: String(row.id),
    store: String(row.store),
    manifest: String(row.manifest),
    tool: text('tool'),
    title: text('title'),
    workspace: text('workspace'),
    epoch,
    token: text('token'),
    holder: text('token') === undefined ? undefined : parseRemoteHolder(row, epoch),
    ends: {
      journal: { seq: count('head_seq'), sum: String(row.head_sum) },
      audit: { seq: count('audit_seq'), sum: String(row.audit_head) },
    },
    bytes: count('bytes'),
    lastAt: Math.round(count('last_at')),
    damage: text('damage'),
    now: count('now'),
  }
}

function parseRemoteHolder({ holder, since, beat }: SqlRow, epoch: number): RemoteHolder | undefined {
  const value = parseObject(String(holder))
  const times = { since: Math.round(Number(since)), beat: Math.round(Number(beat)) }
  const parsed = parseHolder({ ...value, ...times }, epoch)
  return parsed === undefined ? undefined : { ...parsed, host: String(value?.host ?? '') }
}

/** The row of a session. `NOT_FOUND`; `RESUME_MISMATCH` if another store has written it. */
export async function findSessionRow(database: Database, id: string): Promise<SessionRow> {
  checkSessionId(id)
  const [row] = await database.query(selectSessionRows('id = $1'), id)
  if (row === undefined) throw sessionNotFound(id)
  const found = parseSessionRow(row)
  assertWrittenBy(postgresId, id, found.store)
  return found
}

/** Old resumes and closes tell nothing about a session as it is now, and there may be thousands of them. */
const currentRevisions = `SELECT body FROM stint.revision WHERE session = $1 AND (
    body NOT LIKE '%"kind":"resume"%' AND body NOT LIKE '%"kind":"close"%'
    OR rev > (SELECT max(rev) - 32 FROM stint.revision WHERE session = $1)
    OR rev = (SELECT max(rev) FROM stint.revision WHERE session = $1 AND body LIKE '%"kind":"close"%')
  ) ORDER BY rev`

/** Reads the manifest, without the revisions that are superfluous by now. */
export async function readRowManifest(
  database: Database,
  { key, id, manifest: text }: SessionRow,
): Promise<Manifest> {
  const rows = await database.query(currentRevisions, key)
  const revisions = `[${rows.map(({ body }) => String(body)).join(',')}]`
  const manifest = parseManifest(`${text.slice(0, -1)},"revisions":${revisions}}`)
  if (manifest === undefined || manifest.session_id !== id)
    throw new StintError('JOURNAL_CORRUPT', `the manifest of ${id} is invalid`, {
      hint: 'Restore it from a backup of the database.',
    })
  return manifest
}

/** The column of the manifest. Its revisions are rows of their own. */
export const manifestColumn = (manifest: Manifest): string =>
  JSON.stringify({ ...manifest, revisions: undefined })

/** The columns that record a hold. The token is unique to it. */
export interface HoldColumns {
  token: string
  holder: string
}

/**
 * Creates a session with its whole manifest; no row if the id is taken. A session with the same token was
 * created by an earlier try whose answer was lost.
 */
const createSql = `WITH made AS (
    INSERT INTO stint.session (id, store, manifest, rev, tool, title, workspace, token, holder, epoch, since, beat,
      head_seq, head_sum, audit_seq, audit_head, bytes, last_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, clock_timestamp(), clock_timestamp(),
      0, $10, 0, $11, 0, to_timestamp($12::float8 / 1000))
    ON CONFLICT (id) WHERE removed_at IS NULL DO UPDATE SET token = excluded.token WHERE session.token = excluded.token
    RETURNING *
  ), revised AS (
    INSERT INTO stint.revision (session, rev, body)
    SELECT made.key, new.rev, new.body FROM made, unnest($13::integer[], $14::text[]) AS new (rev, body)
    ON CONFLICT DO NOTHING
  )
  SELECT ${rowColumns}, ${untilOnDisk} FROM made`

/** The statement that creates a session, and holds it, with its values. It returns the row. */
export function createStatement(manifest: Manifest, hold: HoldColumns): [string, ...unknown[]] {
  const { revisions } = manifest
  return [
    createSql,
    manifest.session_id,
    postgresId,
    manifestColumn(manifest),
    revisions.at(-1)?.rev ?? 0,
    ...factColumns(factsOf(manifest)),
    hold.token,
    hold.holder,
    emptyLogEnds.journal.sum,
    emptyLogEnds.audit.sum,
    Date.parse(manifest.created_at),
    revisions.map(({ rev }) => rev),
    revisions.map((revision) => JSON.stringify(revision)),
  ]
}

/**
 * Adds a revision, and updates the columns that lists show. If the statement is sent a second time, it finds
 * the revision of the first: only the holder writes revisions, and no two are equal. Then it locks the
 * session, because a statement that writes nothing waits for no standby.
 */
const reviseSql = `WITH held AS (
    UPDATE stint.session SET rev = $3, manifest = $5, tool = $6, title = $7, workspace = $8, beat = clock_timestamp()
    WHERE key = $1 AND token = $2 AND rev = $3 - 1 AND removed_at IS NULL
    RETURNING key
  ), added AS (
    INSERT INTO stint.revision (session, rev, body) SELECT held.key, $3, $4 FROM held
  ), found AS (
    SELECT FROM stint.revision AS revision JOIN stint.session AS session ON session.key = revision.session
    WHERE session.key = $1 AND revision.rev = $3 AND revision.body = $4 FOR UPDATE OF session
  )
  SELECT EXISTS (SELECT FROM held) OR EXISTS (SELECT FROM found) AS revised, ${untilOnDisk}`

/** The statement that adds a revision, with its values. It returns whether the revision is there. */
export const reviseStatement = (
  key: string,
  token: string,
  { rev, body, manifest, facts }: { rev: number; body: string; manifest: string; facts: Facts },
): [string, ...unknown[]] => [reviseSql, key, token, rev, body, manifest, ...factColumns(facts)]

/** A PostgreSQL string cannot contain NUL, so the columns leave it out; the manifest has it escaped. */
export const factColumns = ({ tool, title, workspace }: Facts): (string | null)[] =>
  [tool, title, workspace].map((fact) => fact?.replaceAll('\0', '') ?? null)
