import type { FoundRecord, SearchQuery } from '../../session/index.ts'
import { type LogRecord, parseLogRecord } from '../../session/log/index.ts'
import { systemClock } from '../../base/process/clock.ts'
import type { Database } from '../database.ts'

/** How many records one statement searches: as many as the server can within this time, in milliseconds. */
const span = { first: 1000, largest: 1 << 20, slowMs: 1000, quickMs: 250 }
/** How many records one statement returns at most, and how much of a blob. */
const pageRows = 64
const partChars = 512 << 10
const overlapChars = 64 << 10

/**
 * The server compares, and returns only lines that have a needle, or whose blob has. Without needles it
 * returns every line. `$2` and `$3` are the range, `$4` the needles.
 */
const searchSql = (hasNeedles: boolean): string => {
  const has = (text: string): string =>
    hasNeedles
      ? `EXISTS (SELECT FROM unnest($4::text[]) AS needle WHERE strpos(${text}, needle) > 0)`
      : '$4::text[] IS NULL'
  return `SELECT seq, line FROM stint.journal AS record WHERE session = $1 AND seq > $2 AND seq <= $3 AND (
    ${has('line')} OR blob IS NOT NULL AND EXISTS (
      SELECT FROM stint.blob AS content WHERE content.session = $1 AND sha256 = record.blob AND ${has('content')}
    )) ORDER BY seq DESC LIMIT ${pageRows}`
}

/** Searches the journal of a session on the server, newest record first. */
export async function* searchRows(
  database: Database,
  key: string,
  lastSeq: number,
  query: SearchQuery,
): AsyncGenerator<FoundRecord> {
  const sql = searchSql(query.needles !== undefined)
  let width = span.first
  for (let high = lastSeq; high > 0;) {
    const low = Math.max(0, high - width)
    const begun = systemClock.mono()
    const rows = await database.query(sql, key, low, high, query.needles ?? null)
    for (const row of rows) {
      const found = await findInRow(database, key, parseLogRecord(Buffer.from(String(row.line))), query)
      if (found !== undefined) yield found
    }
    high = rows.length < pageRows ? low : Number(rows.at(-1)?.seq) - 1
    const tookMs = systemClock.mono() - begun
    if (tookMs > span.slowMs) width = Math.max(1, width >> 2)
    else if (tookMs < span.quickMs && rows.length < pageRows) width = Math.min(span.largest, width * 2)
  }
}

async function findInRow(
  database: Database,
  key: string,
  record: LogRecord,
  query: SearchQuery,
): Promise<FoundRecord | undefined> {
  if (!query.wants(record)) return undefined
  const { seq, at, type, blob } = record
  const match = query.inRecord(record) ?? (blob && (await findInBlob(database, key, blob.sha256, query)))
  return match && { seq, at, type, ...match }
}

/** Reads a blob in parts, from the first needle on, until one matches. */
async function findInBlob(
  database: Database,
  key: string,
  sha256: string,
  query: SearchQuery,
): Promise<ReturnType<SearchQuery['inJsonPart']>> {
  const sql = `SELECT substr(content, $3, $4) AS part FROM stint.blob WHERE session = $1 AND sha256 = $2`
  for (let start = 1; ; start += partChars) {
    const [row] = await database.query(sql, key, sha256, start, partChars + overlapChars)
    const part = String(row?.part ?? '')
    const match = part === '' ? undefined : query.inJsonPart(part, start === 1)
    if (match !== undefined || part.length <= partChars) return match
  }
}
