import type { RecordRange } from '../../session/index.ts'
import {
  checkRecord,
  codecs,
  type LogEnd,
  type LogName,
  type LogRecord,
  parseLogRecord,
} from '../../session/log/index.ts'
import type { Database } from '../database.ts'
import { readRecordData } from './blob-row.ts'

/** A row of a log. */
export interface LogRow {
  seq: number
  line: string
}

export interface LogRowRange {
  /** The first and the last `seq` to read. */
  from: number
  to: number
  backwards?: boolean
}

/** Rows per query, and bytes after which a page is halved: few round trips, and little memory. */
const page = { minRows: 64, maxRows: 2048, maxBytes: 2 << 20 }

/** Reads the rows of a log, page by page. */
export async function* readLogRows(
  database: Database,
  log: LogName,
  key: string,
  { from, to, backwards = false }: LogRowRange,
): AsyncGenerator<LogRow> {
  const order = backwards ? 'DESC' : 'ASC'
  const sql = `SELECT seq, line FROM stint.${log} WHERE session = $1 AND seq >= $2 AND seq <= $3 ORDER BY seq ${order} LIMIT $4`
  let limit = page.minRows
  for (let [low, high] = [from, to]; low <= high;) {
    const rows = await database.query(sql, key, low, high, limit)
    let bytes = 0
    for (const row of rows) {
      const line = String(row.line)
      bytes += line.length
      yield { seq: Number(row.seq), line }
    }
    if (rows.length < limit) return
    const last = Number(rows.at(-1)?.seq)
    if (backwards) high = last - 1
    else low = last + 1
    limit = bytes > page.maxBytes ? Math.max(page.minRows, limit >> 1) : Math.min(page.maxRows, limit * 2)
  }
}

/** Reads a log in order, up to the first record that is damaged or missing. Safe while a writer appends. */
export async function* readLogRecords(
  database: Database,
  log: LogName,
  key: string,
  { from = 1, to = Number.MAX_SAFE_INTEGER }: RecordRange = {},
): AsyncGenerator<LogRecord> {
  let next = Math.max(1, from)
  for await (const row of readLogRows(database, log, key, { from: next, to })) {
    if (row.seq !== next || !isIntact(row)) return
    yield await readRecordData(database, key, parseLogRecord(Buffer.from(row.line)))
    next += 1
  }
}

/** Reads the journal backwards from its last intact record, down to the first that is damaged or missing. */
export async function* readJournalBackwards(
  database: Database,
  key: string,
  to = Number.MAX_SAFE_INTEGER,
): AsyncGenerator<LogRecord> {
  let next: number | undefined
  for await (const row of readLogRows(database, 'journal', key, { from: 1, to, backwards: true })) {
    if (next === undefined && !isIntact(row)) continue
    if ((next ?? row.seq) !== row.seq || !isIntact(row)) return
    yield await readRecordData(database, key, parseLogRecord(Buffer.from(row.line)))
    next = row.seq - 1
  }
}

const isIntact = ({ seq, line }: LogRow): boolean => checkRecord(Buffer.from(line))?.seq === seq

/** The sum of a line: its checksum in the journal, its hash in the audit log. */
export const lineSum = (log: LogName, line: string): string => codecs[log].sumOf(Buffer.from(line))

/** The end of the log after a row; undefined unless it is exactly the record that follows `previous`. */
export function nextLogEnd(log: LogName, { seq, line }: LogRow, previous: LogEnd): LogEnd | undefined {
  const bytes = Buffer.from(line)
  const { follows, sumOf } = codecs[log]
  if (seq !== previous.seq + 1 || checkRecord(bytes)?.seq !== seq) return undefined
  if (follows !== undefined && !follows(bytes, previous.sum)) return undefined
  return { seq, sum: sumOf(bytes) }
}

/** The result of reading a log. */
export interface LogRowScan {
  /** After the last intact record. */
  end: LogEnd
  records: number
  bytes: number
  /** The `seq` of the first record that is missing or changed. */
  bad?: number
}

/**
 * Reads a log from `from` to `last`. A transaction leaves no torn tail, as a crash does in a file: every row
 * that is missing or changed is damage.
 */
export async function scanLogRows(
  database: Database,
  log: LogName,
  key: string,
  from: LogEnd,
  last: Pick<LogEnd, 'seq'> & Partial<LogEnd>,
  onRecord?: (record: LogRecord, end: LogEnd, bytes: number) => void | Promise<void>,
): Promise<LogRowScan> {
  const scan: LogRowScan = { end: from, records: 0, bytes: 0 }
  for await (const row of readLogRows(database, log, key, { from: from.seq + 1, to: last.seq })) {
    const end = nextLogEnd(log, row, scan.end)
    if (end === undefined) return { ...scan, bad: scan.end.seq + 1 }
    const line = Buffer.from(row.line)
    scan.end = end
    scan.records += 1
    scan.bytes += line.length
    await onRecord?.(parseLogRecord(line), end, line.length)
  }
  if (scan.end.seq !== last.seq) return { ...scan, bad: scan.end.seq + 1 }
  return scan.end.sum === (last.sum ?? scan.end.sum) ? scan : { ...scan, bad: last.seq }
}
