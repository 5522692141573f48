import { ulid } from '../../base/text/id.ts'
import {
  emptyLogEnds,
  factsOf,
  type LogEnd,
  type LogName,
  type Manifest,
  type SessionContents,
  sessionExists,
} from '../../session/index.ts'
import { type Database, untilOnDisk } from '../database.ts'
import { sqlState } from '../postgres-errors.ts'
import { deleteSession } from './purge.ts'
import { factColumns, manifestColumn } from './session-row.ts'

/** How the id of a session begins while it is being loaded. No session has such an id. */
const loadingPrefix = 'loading:'

/** SQL that is true for a session that was loaded whole. */
export const isLoaded = `NOT starts_with(id, '${loadingPrefix}')`

/** How often a load begins again because a standby has taken over that lacks its first rows. */
const maxLoads = 3

/**
 * Creates a session that is not held from the contents of another. Its rows are added under a name that no
 * reader looks for, and one statement publishes them; `purge` deletes the rows of a process that died before
 * that. No connection is kept meanwhile: the contents may come from the same server, over a pool of one.
 */
export async function loadRows(
  database: Database,
  manifest: Manifest,
  contents: SessionContents,
): Promise<void> {
  for (let loads = 1; loads <= maxLoads; loads++) {
    const loading = await beginLoad(database, manifest)
    try {
      if (await fillSession(database, loading, manifest, contents)) return
    } catch (error) {
      // A role that may not delete leaves that to a purge.
      await database.transaction((query) => deleteSession(query, loading.key), { long: true }).catch(() => {})
      throw error
    }
  }
  throw new Error(`the server has lost what was loaded ${maxLoads} times`)
}

/** The row of a session that is being loaded. Each statement names both: a standby may give the key again. */
interface LoadingRow {
  key: string
  name: string
}

async function beginLoad(database: Database, manifest: Manifest): Promise<LoadingRow> {
  const name = `${loadingPrefix}${ulid()}`
  // Sent a second time, after its answer was lost, it returns the row that the first one has made.
  const sql = `WITH made AS (
      INSERT INTO stint.session (id, store, manifest, rev, epoch, head_seq, head_sum, audit_seq, audit_head, bytes, last_at, removed_at)
      SELECT $1, $2, $3, 0, 1, 0, $4, 0, $5, 0, to_timestamp($6::float8 / 1000), clock_timestamp()
      WHERE NOT EXISTS (SELECT FROM stint.session WHERE id = $1) RETURNING key
    ) SELECT key FROM made UNION ALL SELECT key FROM stint.session WHERE id = $1`
  const { journal, audit } = emptyLogEnds
  const values = [manifest.store, manifestColumn(manifest), journal.sum, audit.sum]
  const createdAt = Date.parse(manifest.created_at)
  const [made] = await database.retry(() => database.write(sql, name, ...values, createdAt))
  return { key: String(made?.key), name }
}

/** Returns whether the session is there. */
async function fillSession(
  database: Database,
  loading: LoadingRow,
  manifest: Manifest,
  contents: SessionContents,
): Promise<boolean> {
  const journal = await loadLog(database, loading, 'journal', contents)
  const audit = await loadLog(database, loading, 'audit', contents)
  let bytes = journal.bytes + audit.bytes
  for await (const { sha256, content } of contents.blobs()) {
    bytes += content.length
    const sql = `INSERT INTO stint.blob (session, sha256, content) SELECT key, $3, $4 FROM stint.session
      WHERE key = $1 AND id = $2 ON CONFLICT DO NOTHING`
    await database.retry(() => database.write(sql, loading.key, loading.name, sha256, content.toString()))
  }
  return await publish(database, loading, manifest, { journal, audit, bytes })
}

/** A log as it was loaded. */
interface LoadedLog {
  end: LogEnd
  bytes: number
  lastAt?: number
}

async function loadLog(
  database: Database,
  { key, name }: LoadingRow,
  log: LogName,
  contents: SessionContents,
): Promise<LoadedLog> {
  const loaded: LoadedLog = { end: emptyLogEnds[log], bytes: 0 }
  const sql = `INSERT INTO stint.${log} (session, seq, line) SELECT owner.key, $3::bigint + new.nth, new.line
    FROM stint.session AS owner, unnest($4::text[]) WITH ORDINALITY AS new (line, nth)
    WHERE owner.key = $1 AND owner.id = $2 ON CONFLICT DO NOTHING`
  for await (const { lines, end, lastAt } of contents.groups(log)) {
    const rows = lines.toString().split('\n').slice(0, -1)
    await database.retry(() => database.write(sql, key, name, loaded.end.seq, rows))
    loaded.end = end
    loaded.bytes += lines.length
    loaded.lastAt = lastAt
  }
  return loaded
}

/**
 * Gives loaded rows the id of their session, and adds its revisions. `NAME_TAKEN`. False if the server does
 * not have the loaded session: it is a standby that has taken over.
 */
async function publish(
  database: Database,
  { key, name }: LoadingRow,
  manifest: Manifest,
  { journal, audit, bytes }: { journal: LoadedLog; audit: LoadedLog; bytes: number },
): Promise<boolean> {
  const { session_id: id, revisions } = manifest
  // Sent a second time, after its answer was lost, it changes the same row to the same values.
  const sql = `WITH published AS (
      UPDATE stint.session SET id = $3, removed_at = NULL, rev = $4, tool = $5, title = $6, workspace = $7, head_seq = $8,
        head_sum = $9, audit_seq = $10, audit_head = $11, bytes = $12,
        last_at = coalesce(to_timestamp($13::float8 / 1000), last_at)
      WHERE key = $1 AND id IN ($2, $3) RETURNING key
    ), revised AS (
      INSERT INTO stint.revision (session, rev, body)
      SELECT published.key, new.rev, new.body FROM published, unnest($14::integer[], $15::text[]) AS new (rev, body)
      ON CONFLICT DO NOTHING
    ) SELECT ${untilOnDisk} FROM published`
  const values = [
    revisions.at(-1)?.rev ?? 0,
    ...factColumns(factsOf(manifest)),
    journal.end.seq,
    journal.end.sum,
    audit.end.seq,
    audit.end.sum,
    bytes,
    journal.lastAt ?? null,
    revisions.map(({ rev }) => rev),
    revisions.map((revision) => JSON.stringify(revision)),
  ]
  try {
    const published = await database.retry(() => database.write(sql, key, name, id, ...values))
    return published.length > 0
  } catch (error) {
    if (sqlState(error) !== '23505') throw error
    throw sessionExists(id, error)
  }
}
