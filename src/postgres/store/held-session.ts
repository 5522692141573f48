import type { StintError } from '../../base/errors/stint-error.ts'
import {
  type AppendOptions,
  factsOf,
  type FoldedState,
  type HeldSession,
  type LogEntry,
  type Manifest,
  type RecordOptions,
  type RecordRange,
  type Recovery,
  type Revision,
  revised,
  sessionClosed,
  sessionFenced,
  type StoredReceipt,
} from '../../session/index.ts'
import type { LogEnds, LogName, LogRecord } from '../../session/log/index.ts'
import { releaseSessionRow } from './session-hold.ts'
import { reviseStatement } from './session-row.ts'
import { SessionRows } from './session-rows.ts'
import { draftSnapshot, writeSnapshot } from './snapshots.ts'
import { SessionWriter, type SessionWriterOptions } from './writer.ts'

export interface PostgresSessionOptions extends SessionWriterOptions {
  manifest: Manifest
  /** Undefined for a visitor, which appends where the row says that the logs end. */
  recovered: Recovery | undefined
}

/** A session in PostgreSQL, held for writing. */
export class PostgresSession implements HeldSession {
  readonly recovered: Recovery | undefined
  readonly #options: PostgresSessionOptions
  readonly #rows: SessionRows
  readonly #writer: SessionWriter
  #manifest: Manifest
  #released = false

  constructor(options: PostgresSessionOptions) {
    this.#options = options
    this.recovered = options.recovered
    this.#manifest = options.manifest
    this.#rows = new SessionRows(options.database, options.row.key)
    this.#writer = new SessionWriter(options)
  }

  get manifest(): Manifest {
    return this.#manifest
  }

  get lastSeq(): number {
    return this.#writer.ends.journal.seq
  }

  append(log: LogName, entry: LogEntry, options?: RecordOptions): Promise<StoredReceipt> {
    return this.#writer.append(log, entry, options)
  }

  appendAll(entries: readonly LogEntry[], options?: AppendOptions): Promise<StoredReceipt[]> {
    return this.#writer.appendAll(entries, options)
  }

  flush(): Promise<void> {
    return this.#writer.flush()
  }

  async revise(revision: Omit<Revision, 'rev' | 'at'>): Promise<void> {
    const { database, row, token, clock, guard } = this.#options
    await this.#writer.exclusively(async () => {
      const next = revised(this.#manifest, clock.now(), revision)
      const latest = next.revisions.at(-1) as Revision
      const body = JSON.stringify(latest)
      guard.check(Buffer.from(body))
      const statement = reviseStatement(row.key, token, latest.rev, body, factsOf(next))
      const [result] = await database.retry(() => database.write(...statement))
      if (result?.revised !== true) throw this.#stop(sessionFenced(row.id))
      this.#manifest = next
    })
  }

  async snapshot(state: FoldedState, payloadOf: (ext: string) => string): Promise<number> {
    const { database, row, token, clock, guard } = this.#options
    await this.#writer.flush()
    return await this.#writer.exclusively(async () => {
      // State and ends are read in one step, so that both have the same records.
      const draft = draftSnapshot(this.#writer.ends, state, clock.now(), payloadOf)
      for (const { content } of draft.payloads) guard.check(Buffer.from(content))
      await database.retry(() => writeSnapshot(database, row, token, draft))
      return draft.ends.journal.seq
    })
  }

  ends(): LogEnds {
    return this.#writer.ends
  }

  records(log: LogName, range?: RecordRange): AsyncIterable<LogRecord> {
    return this.#rows.records(log, { to: this.#writer.ends[log].seq, ...range })
  }

  newestFirst(): AsyncIterable<LogRecord> {
    return this.#rows.newestFirst(this.lastSeq)
  }

  async beat(): Promise<void> {
    const { database, row, token } = this.#options
    const [held] = await database.write(
      'UPDATE stint.session SET beat = clock_timestamp() WHERE key = $1 AND token = $2 RETURNING key',
      row.key,
      token,
    )
    if (held === undefined && !this.#released) this.#stop(sessionFenced(row.id))
  }

  async release(): Promise<void> {
    if (this.#released) return
    const { database, row, token } = this.#options
    await this.#writer.flush()
    this.#stop(sessionClosed())
    await releaseSessionRow(database, row, token)
    this.#released = true
  }

  #stop(reason: StintError): StintError {
    this.#writer.stop(reason)
    return reason
  }
}
