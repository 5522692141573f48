import {
  checkRecord,
  codecs,
  type LogEnd,
  type LogName,
  type LogRecord,
  parseLogRecord,
} from '../../session/log/index.ts'
import type { Database } from '../database.ts'

/** A row of a log. */
export interface LogLine {
  seq: number
  line: string
}

export interface LineRange {
  /** The first and the last that are wanted. */
  from: number
  to: number
  backwards?: boolean
}

/** Large enough that the way to the server does not count, small enough for the memory. */
const page = { least: 64, most: 2048, bytes: 2 << 20 }

/** The rows of a log, page by page. */
export async function* linesOf(
  database: Database,
  log: LogName,
  key: string,
  { from, to, backwards = false }: LineRange,
): AsyncGenerator<LogLine> {
  const order = backwards ? 'DESC' : 'ASC'
  const sql = `SELECT seq, line FROM stint.${log} WHERE session = $1 AND seq >= $2 AND seq <= $3 ORDER BY seq ${order} LIMIT $4`
  let limit = page.least
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
    limit = bytes > page.bytes ? Math.max(page.least, limit >> 1) : Math.min(page.most, limit * 2)
  }
}

/** What the last line of a log leaves for the next. */
export const tailOf = (log: LogName, line: string): string => codecs[log].tailOf(Buffer.from(line))

/** Is this, to the byte, the record that follows? Its end if it is. */
export function follow(log: LogName, { seq, line }: LogLine, after: LogEnd): LogEnd | undefined {
  const bytes = Buffer.from(line)
  const { follows, tailOf } = codecs[log]
  if (seq !== after.seq + 1 || checkRecord(bytes)?.seq !== seq) return undefined
  if (follows !== undefined && !follows(bytes, after.tail)) return undefined
  return { seq, tail: tailOf(bytes) }
}

/** What a look at every line of a log has shown. */
export interface LogScan {
  /** After the last record that counts. */
  end: LogEnd
  records: number
  bytes: number
  /** The first that is missing or changed. */
  bad?: number
}

/**
 * Reads a log from an end on, up to the record that the session says is its last. There are no tears here, as files have them: whatever is not there, or
 * is not what was written, is damage.
 */
export async function scanLog(
  database: Database,
  log: LogName,
  key: string,
  from: LogEnd,
  last: LogEnd,
  take?: (record: LogRecord, end: LogEnd, bytes: number) => void | Promise<void>,
): Promise<LogScan> {
  const scan: LogScan = { end: from, records: 0, bytes: 0 }
  for await (const line of linesOf(database, log, key, { from: from.seq + 1, to: last.seq })) {
    const end = follow(log, line, scan.end)
    if (end === undefined) return { ...scan, bad: scan.end.seq + 1 }
    const bytes = Buffer.byteLength(line.line)
    scan.end = end
    scan.records += 1
    scan.bytes += bytes
    await take?.(parseLogRecord(Buffer.from(line.line)), end, bytes)
  }
  if (scan.end.seq !== last.seq) return { ...scan, bad: scan.end.seq + 1 }
  return scan.end.tail === last.tail ? scan : { ...scan, bad: last.seq }
}
