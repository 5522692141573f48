import type { MeasuredSessions } from '../../session/index.ts'
import type { Database } from '../database.ts'

/** Bytes of a row besides its columns: its header, its keys and its entry in the index. */
const rowBytes = 60

/** Adds up what the rows of one table take for a session, as they are stored: compressed, where they are. */
const sizeIn = (table: string, ...columns: string[]): string =>
  `(SELECT coalesce(sum(${columns.map((column) => `pg_column_size(${column})`).join(' + ')} + ${rowBytes}), 0)
    FROM stint.${table} WHERE ${table}.session = owner.key)`

const useSql = `SELECT id, removed_at IS NOT NULL AS removed,
    ${sizeIn('journal', 'line')} AS journal, ${sizeIn('audit', 'line')} AS audit,
    ${sizeIn('blob', 'content')} AS blobs,
    ${sizeIn('snapshot', 'body')} + ${sizeIn('state', 'content')} AS snapshots,
    ${sizeIn('revision', 'body')} + ${sizeIn('spool', 'entry')} + pg_column_size(manifest) + ${rowBytes} AS other
  FROM stint.session AS owner WHERE store = $1`

/** Measures every session on the server by kind, and those that are removed and not purged yet. */
export async function measureRows(database: Database, store: string): Promise<MeasuredSessions> {
  // It reads the sizes of all rows, which may take minutes.
  const rows = await database.transaction((query) => query(useSql, store), { long: true })
  const measured = rows.map((row) => {
    const [journal = 0, audit = 0, blobs = 0, snapshots = 0, other = 0] = [
      row.journal,
      row.audit,
      row.blobs,
      row.snapshots,
      row.other,
    ].map(Number)
    const bytes = journal + audit + blobs + snapshots + other
    const use = { session_id: String(row.id), bytes, journal, audit, blobs, snapshots, quarantine: 0, other }
    return { isRemoved: row.removed === true, use: { ...use, files: 0 } }
  })
  const removed = measured.filter(({ isRemoved }) => isRemoved)
  return {
    sessions: measured.filter(({ isRemoved }) => !isRemoved).map(({ use }) => use),
    trashBytes: removed.reduce((sum, { use }) => sum + use.bytes, 0),
  }
}
