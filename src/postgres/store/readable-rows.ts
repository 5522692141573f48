import { isRecord, isString, parseObject } from '../../base/text/fields.ts'
import {
  type LogEnds,
  type LogName,
  type Manifest,
  type ReadableMedium,
  type Region,
  type RegionRange,
  sessionState,
  type SessionSummary,
} from '../../session/index.ts'
import type { Query } from '../database.ts'
import { rowStanding } from './session-hold.ts'
import type { SessionRow } from './session-row.ts'

/** Rows per query, and bytes after which a page is halved: few round trips, and little memory. */
const page = { minRows: 64, maxRows: 2048, maxBytes: 2 << 20 }
/** How much of a blob is read at once. */
const pieceChars = 256 << 10

/** Reads the rows of a log up to its end: an append adds rows, and moves that end, in one statement. */
const pageSql = (log: LogName, backwards: boolean): string => {
  const end = log === 'journal' ? 'head_seq' : 'audit_seq'
  return `SELECT seq, line FROM stint.${log} WHERE session = $1 AND seq ${backwards ? '<=' : '>='} $2
    AND seq <= (SELECT ${end} FROM stint.session WHERE key = $1)
    ORDER BY seq ${backwards ? 'DESC' : 'ASC'} LIMIT $3`
}

/** A session in PostgreSQL. Its lines never change, so a writer may append meanwhile. */
export class ReadableRows implements ReadableMedium {
  protected readonly row: SessionRow
  readonly #query: Query
  readonly #manifest: Manifest

  constructor(query: Query, row: SessionRow, manifest: Manifest) {
    this.#query = query
    this.row = row
    this.#manifest = manifest
  }

  get manifest(): Manifest {
    return this.#manifest
  }

  get summary(): SessionSummary {
    return summarizeRow(this.row)
  }

  get ends(): LogEnds {
    return this.row.ends
  }

  async *regions(log: LogName, { from, backwards }: RegionRange): AsyncGenerator<Region> {
    const sql = pageSql(log, backwards)
    let limit = page.minRows
    for (let next = from; ;) {
      const rows = await this.#query(sql, this.row.key, next, limit)
      const lines = (backwards ? rows.toReversed() : rows).map(({ line }) => `${String(line)}\n`)
      const bytes = Buffer.from(lines.join(''))
      if (rows.length > 0) yield { bytes, segment: '', offset: 0 }
      if (rows.length < limit) return
      next = Number(rows.at(-1)?.seq) + (backwards ? -1 : 1)
      const isLarge = bytes.length > page.maxBytes
      limit = isLarge ? Math.max(page.minRows, limit >> 1) : Math.min(page.maxRows, limit * 2)
    }
  }

  async *blob(sha256: string): AsyncGenerator<Buffer> {
    const sql = 'SELECT substr(content, $3, $4) AS part FROM stint.blob WHERE session = $1 AND sha256 = $2'
    for (let start = 1; ; start += pieceChars) {
      const [row] = await this.#query(sql, this.row.key, sha256, start, pieceChars)
      const part = String(row?.part ?? '')
      if (part !== '') yield Buffer.from(part)
      if (part === '') return
    }
  }

  async state(names: readonly string[]): Promise<Map<string, string>> {
    const sql = 'SELECT name, content FROM stint.state WHERE session = $1 AND name = ANY ($2::text[])'
    const rows = await this.#query(sql, this.row.key, names)
    return new Map(rows.map(({ name, content }) => [String(name), String(content)]))
  }
}

/** A session as lists show it. One with an invalid manifest is damaged, and does not hide the others. */
export function summarizeRow(row: SessionRow): SessionSummary {
  const { id, store, tool, title, workspace, lastAt, bytes, holder, damage } = row
  const { created_at: created, key, labels } = parseObject(row.manifest) ?? {}
  const createdAt = isString(created) ? Date.parse(created) : Number.NaN
  const isInvalid = Number.isNaN(createdAt)
  return {
    id,
    store,
    state: sessionState(rowStanding(row), holder, isInvalid || damage !== undefined),
    key: isString(key) ? key : undefined,
    labels: isRecord(labels) ? (labels as Record<string, string>) : undefined,
    tool,
    title,
    workspace,
    createdAt: isInvalid ? lastAt : createdAt,
    lastAt,
    records: row.ends.journal.seq,
    bytes,
    holder,
  }
}
