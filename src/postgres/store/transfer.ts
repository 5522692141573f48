import { StintError } from '../../base/errors/stint-error.ts'
import { newSessionId } from '../../base/text/id.ts'
import {
  assertIntact,
  checkSessionId,
  importedManifest,
  sessionExists,
  sessionLocked,
  type SessionTransfer,
} from '../../session/index.ts'
import { emptyLogEnd, type LogEnd, type LogName, parseLogRecord } from '../../session/log/index.ts'
import type { Database, Query } from '../database.ts'
import { damageHint } from './recover.ts'
import { rowStanding } from './session-hold.ts'
import { createStatement, findSessionRow, postgresId, readRowManifest } from './session-row.ts'
import { nextLogEnd, SessionRows } from './session-rows.ts'
import { verifyRows } from './verify.ts'

/** Verifies a session and opens it for copying. `SESSION_LOCKED`; an error for the damage that it has. */
export async function readTransferFromRows(database: Database, id: string): Promise<SessionTransfer> {
  const row = await findSessionRow(database, id)
  if (rowStanding(row) === 'held') throw sessionLocked(id, row.holder, row.now)
  assertIntact(id, await verifyRows(database, id), damageHint)
  const { ends, turns } = row
  const rows = new SessionRows(database, row.key)
  return {
    kind: 'import',
    manifest: await readRowManifest(database, row),
    ends,
    turns,
    async *lines(log) {
      for await (const { line } of rows.rows(log, 1, ends[log].seq)) yield line
    },
    blob: (name) => rows.blob(name),
  }
}

/** Creates a session that is not held. One transaction writes it and checks every byte of it. */
export async function writeTransferToRows(
  database: Database,
  transfer: SessionTransfer,
  now: number,
  id = newSessionId(),
): Promise<string> {
  checkSessionId(id)
  const manifest = importedManifest(transfer, { id, store: postgresId, now })
  const { ends, turns } = transfer
  const initial = { epoch: 1, ends, turns, bytes: 0, lastAt: Date.parse(manifest.created_at) }
  await database.transaction(
    async (query) => {
      const [made] = await query(...createStatement(manifest, undefined, initial))
      if (made === undefined) throw sessionExists(id)
      const key = String(made.key)
      const journal = await writeLog(query, transfer, key, 'journal')
      const audit = await writeLog(query, transfer, key, 'audit')
      let bytes = journal.bytes + audit.bytes
      for (const sha256 of new Set([...journal.blobs, ...audit.blobs])) {
        const content = await transfer.blob({ sha256, bytes: 0 })
        bytes += Buffer.byteLength(content)
        const sql = 'INSERT INTO stint.blob (session, sha256, content) VALUES ($1, $2, $3)'
        await query(sql, key, sha256, content)
      }
      // The columns that are known only now.
      await query(
        `UPDATE stint.session SET bytes = $2, epoch = $3, last_at = coalesce(to_timestamp($4::float8 / 1000), last_at) WHERE key = $1`,
        key,
        bytes,
        Math.max(1, journal.epoch, audit.epoch),
        journal.lastAt ?? null,
      )
    },
    { long: true },
  )
  return id
}

/** The most that one statement inserts. */
const maxInsert = { rows: 2000, bytes: 4 << 20 }

/** The lines of one log that were written. */
interface WrittenLog {
  bytes: number
  /** The highest epoch of their writers. */
  epoch: number
  lastAt?: number
  blobs: Set<string>
}

/** Writes the lines of a log, and checks that they are those of the transfer. */
async function writeLog(
  query: Query,
  transfer: SessionTransfer,
  key: string,
  log: LogName,
): Promise<WrittenLog> {
  const written: WrittenLog = { bytes: 0, epoch: 0, blobs: new Set() }
  let end: LogEnd = emptyLogEnd(log)
  let rows: { seq: number; line: string; blob: string | null }[] = []
  let flushedBytes = 0
  const flush = async (): Promise<void> => {
    await query(
      `INSERT INTO stint.${log} (session, seq, line, blob)
      SELECT $1, new.* FROM unnest($2::bigint[], $3::text[], $4::text[]) AS new`,
      key,
      rows.map(({ seq }) => seq),
      rows.map(({ line }) => line),
      rows.map(({ blob }) => blob),
    )
    rows = []
    flushedBytes = written.bytes
  }
  for await (const line of transfer.lines(log)) {
    const next = nextLogEnd(log, { seq: end.seq + 1, line }, end)
    if (next === undefined) throw changedOnTheWay(log, end.seq + 1)
    end = next
    const { blob, epoch, at } = parseLogRecord(Buffer.from(line))
    rows.push({ seq: end.seq, line, blob: blob?.sha256 ?? null })
    if (blob !== undefined) written.blobs.add(blob.sha256)
    written.epoch = Math.max(written.epoch, epoch)
    written.lastAt = at
    written.bytes += Buffer.byteLength(line)
    if (rows.length >= maxInsert.rows || written.bytes - flushedBytes >= maxInsert.bytes) await flush()
  }
  await flush()
  const { seq, sum } = transfer.ends[log]
  if (end.seq !== seq || end.sum !== sum) throw changedOnTheWay(log, end.seq + 1)
  return written
}

const changedOnTheWay = (log: LogName, seq: number): StintError =>
  new StintError(
    log === 'journal' ? 'JOURNAL_CORRUPT' : 'AUDIT_CORRUPT',
    `record ${seq} of the ${log} did not arrive as it was written: nothing was copied`,
  )
