import {
  type FoldedState,
  type FoundRecord,
  type Health,
  type Manifest,
  type ReadableSession,
  type RecordRange,
  type SearchQuery,
  sessionState,
  type SessionSummary,
} from '../../session/index.ts'
import { isRecord, isString, parseObject } from '../../base/text/fields.ts'
import type { LogName, LogRecord } from '../../session/log/index.ts'
import type { Database } from '../database.ts'
import { recoverRows } from './recover.ts'
import { rowStanding } from './session-hold.ts'
import { searchRows } from './search.ts'
import { findSessionRow, type SessionRow } from './session-row.ts'
import { SessionRows } from './session-rows.ts'
import { verifyRows } from './verify.ts'

/** A session in PostgreSQL, opened for reading: it locks nothing and changes nothing. */
export class ReadableRows implements ReadableSession {
  readonly manifest: Manifest
  readonly summary: SessionSummary
  readonly #database: Database
  readonly #rows: SessionRows

  constructor(database: Database, row: SessionRow, manifest: Manifest) {
    this.manifest = manifest
    this.summary = summarizeRow(row)
    this.#database = database
    this.#rows = new SessionRows(database, row.key)
  }

  records(log: LogName, range?: RecordRange): AsyncIterable<LogRecord> {
    return this.#rows.records(log, range)
  }

  newestFirst(): AsyncIterable<LogRecord> {
    return this.#rows.newestFirst()
  }

  search(query: SearchQuery): AsyncIterable<FoundRecord> {
    return searchRows(this.#database, this.#rows.key, this.summary.records, query)
  }

  async state(): Promise<FoldedState> {
    // The row is read again: a writer may have appended since the session was opened.
    return (await recoverRows(this.#database, await findSessionRow(this.#database, this.summary.id))).state
  }

  verify(onBytes?: (done: number) => void): Promise<Health> {
    return verifyRows(this.#database, this.summary.id, onBytes)
  }
}

/** A session as lists show it. One with an invalid manifest is damaged, and does not hide the others. */
export function summarizeRow(row: SessionRow): SessionSummary {
  const { id, store, tool, title, workspace, lastAt, turns, bytes, holder, damage } = row
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
    turns,
    records: row.ends.journal.seq,
    bytes,
    holder,
  }
}
