import type {
  FoldedState,
  Health,
  Manifest,
  ReadableSession,
  RecordRange,
  SessionSummary,
} from '../../session/index.ts'
import type { LogName, LogRecord } from '../../session/log/index.ts'
import type { Database } from '../database.ts'
import { readJournalBackwards, readLog } from './read-records.ts'
import { recover } from './recover.ts'
import { findRow, type SessionRow } from './session-row.ts'
import { summaryOf } from './summary.ts'
import { verify } from './verify.ts'

/** A session in PostgreSQL, to read: nothing is locked and nothing is changed. */
export class ReadableRows implements ReadableSession {
  readonly manifest: Manifest
  readonly summary: SessionSummary
  readonly #database: Database
  readonly #row: SessionRow

  constructor(database: Database, row: SessionRow, manifest: Manifest) {
    this.manifest = manifest
    this.summary = summaryOf(row)
    this.#database = database
    this.#row = row
  }

  records(log: LogName, range?: RecordRange): AsyncIterable<LogRecord> {
    return readLog(this.#database, log, this.#row.key, range)
  }

  newestFirst(): AsyncIterable<LogRecord> {
    return readJournalBackwards(this.#database, this.#row.key)
  }

  async state(): Promise<FoldedState> {
    return (await recover(this.#database, await findRow(this.#database, this.#row.id))).state
  }

  verify(onBytes?: (done: number) => void): Promise<Health> {
    return verify(this.#database, this.#row.id, onBytes)
  }
}
