import type { RecordRange } from '../../session/index.ts'
import {
  blobMissing,
  type BlobName,
  checkRecord,
  codecs,
  type LogEnd,
  type LogName,
  type LogRecord,
  nameBlob,
  parseLogRecord,
} from '../../session/log/index.ts'
import type { Database } from '../database.ts'

/** Content with its name, which is its hash: of a blob, or of the value of a slot. */
export interface NamedContent extends BlobName {
  content: string
}

export const nameContent = (content: string): NamedContent => ({ ...nameBlob(Buffer.from(content)), content })

/** A row of a log. */
interface LogRow {
  seq: number
  line: string
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

/** Rows per query, and bytes after which a page is halved: few round trips, and little memory. */
const page = { minRows: 64, maxRows: 2048, maxBytes: 2 << 20 }

/** The logs of one session and their blobs. These rows never change, so a writer may append meanwhile. */
export class SessionRows {
  readonly database: Database
  readonly key: string

  constructor(database: Database, key: string) {
    this.database = database
    this.key = key
  }

  /** Reads the rows of a log from one `seq` to another, page by page. */
  async *rows(log: LogName, from: number, to: number, backwards = false): AsyncGenerator<LogRow> {
    const order = backwards ? 'DESC' : 'ASC'
    const sql = `SELECT seq, line FROM stint.${log} WHERE session = $1 AND seq >= $2 AND seq <= $3 ORDER BY seq ${order} LIMIT $4`
    let limit = page.minRows
    for (let [low, high] = [from, to]; low <= high;) {
      const rows = await this.database.query(sql, this.key, low, high, limit)
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

  /** Reads a log in order, up to the first record that is damaged or missing. */
  async *records(
    log: LogName,
    { from = 1, to = Number.MAX_SAFE_INTEGER }: RecordRange = {},
  ): AsyncGenerator<LogRecord> {
    let next = Math.max(1, from)
    for await (const row of this.rows(log, next, to)) {
      if (row.seq !== next || !isIntact(row)) return
      yield await this.withData(parseLogRecord(Buffer.from(row.line)))
      next += 1
    }
  }

  /** Reads the journal backwards from its last intact record to the first that is damaged or missing. */
  async *newestFirst(to = Number.MAX_SAFE_INTEGER): AsyncGenerator<LogRecord> {
    let next: number | undefined
    for await (const row of this.rows('journal', 1, to, true)) {
      if (next === undefined && !isIntact(row)) continue
      if ((next ?? row.seq) !== row.seq || !isIntact(row)) return
      yield await this.withData(parseLogRecord(Buffer.from(row.line)))
      next = row.seq - 1
    }
  }

  /**
   * Reads a log from `from` to `last`. A transaction leaves no torn tail, as a crash does in a file: every
   * row that is missing or changed is damage.
   */
  async scan(
    log: LogName,
    from: LogEnd,
    last: Pick<LogEnd, 'seq'> & Partial<LogEnd>,
    onRecord: (record: LogRecord, end: LogEnd, bytes: number) => void | Promise<void>,
  ): Promise<LogRowScan> {
    const scan: LogRowScan = { end: from, records: 0, bytes: 0 }
    for await (const row of this.rows(log, from.seq + 1, last.seq)) {
      const end = nextLogEnd(log, row, scan.end)
      if (end === undefined) return { ...scan, bad: scan.end.seq + 1 }
      const line = Buffer.from(row.line)
      scan.end = end
      scan.records += 1
      scan.bytes += line.length
      await onRecord(parseLogRecord(line), end, line.length)
    }
    if (scan.end.seq !== last.seq) return { ...scan, bad: scan.end.seq + 1 }
    return scan.end.sum === (last.sum ?? scan.end.sum) ? scan : { ...scan, bad: last.seq }
  }

  /** Reads a blob. `BLOB_MISSING` if it is missing or has another content than its name says. */
  async blob(name: BlobName): Promise<string> {
    const sql = 'SELECT content FROM stint.blob WHERE session = $1 AND sha256 = $2'
    const [row] = await this.database.query(sql, this.key, String(name.sha256))
    const content = row === undefined ? undefined : String(row.content)
    if (content !== undefined && nameContent(content).sha256 === name.sha256) return content
    throw blobMissing(name)
  }

  /** A record with its data, read from its blob if it has one. */
  async withData(record: LogRecord): Promise<LogRecord> {
    if (record.blob === undefined) return record
    return { ...record, data: JSON.parse(await this.blob(record.blob)) as unknown }
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
