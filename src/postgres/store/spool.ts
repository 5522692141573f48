import { parseObject } from '../../base/text/fields.ts'
import { ulidAfter } from '../../base/text/id.ts'
import { isSpoolEntry, sessionNotFound, type SpooledEntry, type SpoolEntry } from '../../session/index.ts'
import { type Database, untilOnDisk } from '../database.ts'
import type { SqlRow } from '../pool.ts'

/** How long the mark of an entry outlives it: the visitor may still retry the statement that left it. */
const markKeptFor = '1 day'

/** Leaves entries for the holder, which takes them in by their marks, in the order in which they came. */
export async function writeSpoolRows(
  database: Database,
  id: string,
  entries: readonly SpoolEntry[],
): Promise<void> {
  const [newest] = await database.query(`SELECT max(spool.mark) AS mark FROM ${waitingIn}`, id)
  let mark = typeof newest?.mark === 'string' ? newest.mark : undefined
  const marks = entries.map(() => (mark = ulidAfter(mark)))
  await database.retry(async () => {
    // A retry finds its own marks, even if a holder has taken the entries in meanwhile. It writes them again
    // as they are: only a statement that writes waits for the synchronous standby.
    const [row] = await database.write(
      `WITH found AS (SELECT key FROM stint.session WHERE id = $1 AND removed_at IS NULL), left_there AS (
        INSERT INTO stint.spool (session, mark, entry)
        SELECT found.key, new.mark, new.entry FROM found, unnest($2::text[], $3::text[]) AS new (mark, entry)
        ON CONFLICT (session, mark) DO UPDATE SET mark = excluded.mark
      ) SELECT ${untilOnDisk} FROM found`,
      id,
      marks,
      entries.map((entry) => JSON.stringify(entry)),
    )
    if (row === undefined) throw sessionNotFound(id)
  })
}

const waitingIn = `stint.spool AS spool JOIN stint.session AS session ON session.key = spool.session
  WHERE session.id = $1 AND session.removed_at IS NULL AND spool.taken_at IS NULL`

/** True if entries wait for a holder. */
export async function hasSpoolRows(database: Database, id: string): Promise<boolean> {
  const [row] = await database.query(`SELECT EXISTS (SELECT FROM ${waitingIn}) AS waiting`, id)
  return row?.waiting === true
}

/** Reads the entries that wait, oldest first; none if the session is gone. */
export async function readSpoolRows(database: Database, id: string): Promise<SpooledEntry[]> {
  const sql = `SELECT spool.mark, spool.entry FROM ${waitingIn} ORDER BY spool.mark`
  return (await database.query(sql, id)).flatMap((row) => parseEntry(row) ?? [])
}

function parseEntry({ mark, entry }: SqlRow): SpooledEntry | undefined {
  const value = parseObject(String(entry))
  return isSpoolEntry(value) ? { ...value, spool: String(mark) } : undefined
}

const pageSize = 500

/**
 * Reads the oldest entries that wait, with their marks. The append that takes one in marks it as taken. An
 * invalid entry is set aside, where no holder reads it again: its row stays and counts as taken for ever.
 */
export async function readSpoolPage(database: Database, key: string): Promise<SpooledEntry[]> {
  for (;;) {
    const rows = await database.query(
      'SELECT mark, entry FROM stint.spool WHERE session = $1 AND taken_at IS NULL ORDER BY mark LIMIT $2',
      key,
      pageSize,
    )
    const entries: SpooledEntry[] = []
    const invalid: unknown[] = []
    for (const row of rows) {
      const entry = parseEntry(row)
      if (entry === undefined) invalid.push(row.mark)
      else entries.push(entry)
    }
    if (invalid.length === 0) return entries
    const setAside = `UPDATE stint.spool SET taken_at = 'infinity' WHERE session = $1 AND mark = ANY ($2::text[])`
    await database.write(setAside, key, invalid)
  }
}

/** Deletes the marks of entries that were taken in long ago. */
export async function deleteOldMarks(database: Database, key: string): Promise<void> {
  await database.write(
    `DELETE FROM stint.spool WHERE session = $1 AND taken_at < clock_timestamp() - interval '${markKeptFor}'`,
    key,
  )
}
