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
  const [made] = await database.write(
    `INSERT INTO stint.session (id, store, manifest, rev, epoch, head_seq, head_sum, audit_seq, audit_head, turns, bytes,
      last_at, removed_at) VALUES ($1, $2, $3, 0, 1, 0, $4, 0, $5, 0, 0, to_timestamp($6::float8 / 1000), clock_timestamp())
    RETURNING key`,
    `${loadingPrefix}${ulid()}`,
    manifest.store,
    manifestColumn(manifest),
    emptyLogEnds.journal.sum,
    emptyLogEnds.audit.sum,
    Date.parse(manifest.created_at),
  )
  const key = String(made?.key)
  try {
    await fillSession(database, key, manifest, contents)
  } catch (error) {
    // A role that may not delete leaves that to a purge.
    await database.transaction((query) => deleteSession(query, key), { long: true }).catch(() => {})
    throw error
  }
}

async function fillSession(
  database: Database,
  key: string,
  manifest: Manifest,
  contents: SessionContents,
): Promise<void> {
  const journal = await loadLog(database, key, 'journal', contents)
  const audit = await loadLog(database, key, 'audit', contents)
  let bytes = journal.bytes + audit.bytes
  for await (const { sha256, content } of contents.blobs()) {
    bytes += content.length
    const sql =
      'INSERT INTO stint.blob (session, sha256, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1'
    await database.retry(() => database.write(sql, key, sha256, content.toString()))
  }
  await publish(database, key, manifest, { journal, audit, bytes })
}

/** A log as it was loaded. */
interface LoadedLog {
  end: LogEnd
  bytes: number
  turns: number
  lastAt?: number
}

async function loadLog(
  database: Database,
  key: string,
  log: LogName,
  contents: SessionContents,
): Promise<LoadedLog> {
  const loaded: LoadedLog = { end: emptyLogEnds[log], bytes: 0, turns: 0 }
  const sql = `INSERT INTO stint.${log} (session, seq, line) SELECT $1, $2::bigint + new.nth, new.line
    FROM unnest($3::text[]) WITH ORDINALITY AS new (line, nth) ON CONFLICT DO NOTHING`
  for await (const { lines, end, turns, lastAt } of contents.groups(log)) {
    const rows = lines.toString().split('\n').slice(0, -1)
    await database.retry(() => database.write(sql, key, loaded.end.seq, rows))
    loaded.end = end
    loaded.bytes += lines.length
    loaded.turns += turns
    loaded.lastAt = lastAt
  }
  return loaded
}

/** Gives loaded rows the id of their session, and adds its revisions. `NAME_TAKEN`. */
async function publish(
  database: Database,
  key: string,
  manifest: Manifest,
  { journal, audit, bytes }: { journal: LoadedLog; audit: LoadedLog; bytes: number },
): Promise<void> {
  const { session_id: id, revisions } = manifest
  // Sent a second time, after its answer was lost, it changes the same row to the same values.
  const sql = `WITH published AS (
      UPDATE stint.session SET id = $2, removed_at = NULL, rev = $3, tool = $4, title = $5, workspace = $6, head_seq = $7,
        head_sum = $8, audit_seq = $9, audit_head = $10, turns = $11, bytes = $12,
        last_at = coalesce(to_timestamp($13::float8 / 1000), last_at)
      WHERE key = $1 RETURNING key
    ), revised AS (
      INSERT INTO stint.revision (session, rev, body)
      SELECT published.key, new.rev, new.body FROM published, unnest($14::integer[], $15::text[]) AS new (rev, body)
      ON CONFLICT DO NOTHING
    ) SELECT ${untilOnDisk} FROM published`
  const values = [
    journal.end.seq,
    journal.end.sum,
    audit.end.seq,
    audit.end.sum,
    journal.turns,
    bytes,
    journal.lastAt ?? null,
    revisions.map(({ rev }) => rev),
    revisions.map((revision) => JSON.stringify(revision)),
  ]
  const facts = factColumns(factsOf(manifest))
  try {
    await database.retry(() => database.write(sql, key, id, revisions.at(-1)?.rev ?? 0, ...facts, ...values))
  } catch (error) {
    if (sqlState(error) !== '23505') throw error
    throw sessionExists(id, error)
  }
}
