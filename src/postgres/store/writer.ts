import { StintError } from '../../base/errors/stint-error.ts'
import type { Clock } from '../../base/process/clock.ts'
import {
  type AppendOptions,
  type LogEntry,
  type RecordOptions,
  sessionFenced,
  type StoredReceipt,
  type WriteGuard,
} from '../../session/index.ts'
import { LazyCommit, type LogEnds, type LogName } from '../../session/log/index.ts'
import type { Database } from '../database.ts'
import type { SqlRow } from '../pool.ts'
import { isUncertain, sqlState } from '../postgres-errors.ts'
import {
  type AppendBatch,
  appendStatement,
  encodeBatch,
  type EncodedRecord,
  encodeRecord,
} from './append-batch.ts'
import { parseSessionRow, selectSessionRows, type SessionRow } from './session-row.ts'
import {
  acknowledge,
  acknowledgedLost,
  type AppendWaiter,
  fateUnknown,
  findCommitted,
  haveSameEnds,
  type SentAppend,
  sentAppend,
} from './uncertain-append.ts'

export interface SessionWriterOptions {
  database: Database
  clock: Clock
  row: SessionRow
  /** Identifies the hold of this process. */
  token: string
  guard: WriteGuard
}

interface PendingRecord extends EncodedRecord, AppendWaiter {
  reject: (error: unknown) => void
}

/** The most that one statement appends. */
const maxBatch = { records: 4096, bytes: 4 << 20 }
const maxContradictions = 5

/**
 * Appends to both logs of a session, one transaction at a time; records that arrive meanwhile go into the
 * next one. Each transaction names the record after which it writes. So it can be sent again when its answer
 * was lost: either it is carried out now, or the writer finds that it was carried out before.
 */
export class SessionWriter {
  readonly #options: SessionWriterOptions
  readonly #lazy = new LazyCommit(() => this.#commitSoon())
  #pending: PendingRecord[] = []
  #committing: Promise<void> | undefined
  #queue: Promise<unknown> = Promise.resolve()
  #ends: LogEnds
  /** The checkpoint of the audit log that the journal attested last. */
  #checkpoint = ''
  /**
   * Appends that failed without an answer. At most one of them was carried out, or still will be: all of them
   * begin after the same record.
   */
  #uncertain: SentAppend[] = []
  /** Why nothing more can be written. */
  #stopped: unknown

  constructor(options: SessionWriterOptions) {
    this.#options = options
    this.#ends = options.row.ends
  }

  /** After the last acknowledged records. */
  get ends(): LogEnds {
    return this.#ends
  }

  /** Resolves when the record is committed. */
  append(
    log: LogName,
    entry: LogEntry,
    { durable = true, applied }: RecordOptions = {},
  ): Promise<StoredReceipt> {
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped)
    return this.#add(encodeRecord(log, entry, this.#options.clock.now()), { durable, applied })
  }

  /** Appends records to the journal by one statement, however many there are. */
  async appendAll(entries: readonly LogEntry[], options: AppendOptions = {}): Promise<StoredReceipt[]> {
    if (this.#stopped !== undefined) throw this.#stopped
    const now = this.#options.clock.now()
    const records = entries.map((entry, i) => encodeRecord('journal', entry, now, i < entries.length - 1))
    return await Promise.all(records.map((record) => this.#add(record, options)))
  }

  #add(record: EncodedRecord, { durable = true, applied }: RecordOptions): Promise<StoredReceipt> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ ...record, applied, resolve, reject })
      if (durable) this.#commitSoon()
      else this.#lazy.schedule()
    })
  }

  /** Commits all pending records; when it resolves, each was acknowledged or rejected. */
  async flush(): Promise<void> {
    if (this.#pending.length > 0) this.#commitSoon()
    while (this.#committing !== undefined) await this.#committing
  }

  /** Runs `act` between two batches, when `ends` is certain. */
  async exclusively<Result>(act: () => Promise<Result>): Promise<Result> {
    return await this.#inTurn(async () => {
      if (this.#stopped !== undefined) throw this.#stopped
      if (this.#uncertain.length > 0) await this.#lookUp()
      return await act()
    })
  }

  /** Rejects every later append with this reason. */
  stop(reason: unknown): void {
    this.#stopped ??= reason
  }

  #commitSoon(): void {
    this.#lazy.cancel()
    this.#committing ??= this.#commitAll().finally(() => (this.#committing = undefined))
  }

  async #commitAll(): Promise<void> {
    for (;;) {
      // Callers that were acknowledged just now may append again, and share the next batch.
      await new Promise((resolve) => setImmediate(resolve))
      const records = this.#nextRecords()
      if (records.length === 0) return
      await this.#inTurn(() => this.#commit(records))
    }
  }

  #nextRecords(): PendingRecord[] {
    let [count, bytes] = [0, 0]
    let mayEnd = false
    for (const { body, blob, isContinued } of this.#pending) {
      bytes += body.length + (blob?.bytes ?? 0)
      if (mayEnd && (bytes > maxBatch.bytes || count >= maxBatch.records)) break
      count += 1
      mayEnd = !isContinued
    }
    return this.#pending.splice(0, count)
  }

  async #commit(records: readonly PendingRecord[]): Promise<void> {
    try {
      await this.#write(records)
    } catch (error) {
      for (const { reject } of records) reject(error)
    }
  }

  async #write(records: readonly PendingRecord[]): Promise<void> {
    const { database, row, token } = this.#options
    for (let tries = 0; tries < maxContradictions; tries++) {
      if (this.#stopped !== undefined) throw this.#stopped
      const batch = encodeBatch(records, this.#ends, row.epoch, this.#checkpoint)
      this.#check(batch)
      const sent = sentAppend(batch, records)
      // A try whose answer was lost may have been carried out, whatever the later tries say.
      let mayBeThere = false
      const send = (): Promise<SqlRow[]> =>
        database.write(...appendStatement(row.key, token, batch)).catch((error: unknown) => {
          mayBeThere ||= isUncertain(error)
          throw error
        })
      try {
        const rows = await database.retry(send)
        if (rows.length > 0) return this.#acknowledge(sent)
        // No row has changed: an earlier try was carried out, or another process has the session, or an
        // append that was given up on was carried out after all.
        mayBeThere = true
        if (await this.#lookUp(sent)) return
      } catch (error) {
        if (error === this.#stopped) throw error
        if (!mayBeThere || sqlState(error) === '23505') throw this.#explain(error)
        this.#uncertain.push(sent)
        throw fateUnknown(row.id, error)
      }
    }
    throw new Error(`the server gave contradictory answers ${maxContradictions} times for one append`)
  }

  /** Checks the finished bytes for secrets. */
  #check({ audit, journal, contents }: AppendBatch): void {
    const { guard } = this.#options
    for (const line of [...audit.lines, ...journal.lines]) guard.check(Buffer.from(line))
    for (const { content } of contents) guard.check(Buffer.from(content))
  }

  /** Reads what became of `sent` and of the uncertain appends; true if `sent` is committed. */
  async #lookUp(sent?: SentAppend): Promise<boolean> {
    const { database, row, token } = this.#options
    const candidates = sent === undefined ? this.#uncertain : [sent, ...this.#uncertain]
    const [found] = await database.retry(() => database.query(selectSessionRows('key = $1'), row.key))
    const now = found === undefined ? undefined : parseSessionRow(found)
    if (now?.token !== token) {
      const committed = await findCommitted(database, row.key, candidates)
      if (committed !== undefined) this.#acknowledge(committed)
      this.#stopped = sessionFenced(row.id)
      if (committed !== undefined && committed === sent) return true
      throw this.#stopped
    }
    if (haveSameEnds(now.ends, this.#ends)) return false
    const seen = candidates.find(({ end }) => haveSameEnds(end, now.ends))
    if (seen === undefined) throw (this.#stopped = acknowledgedLost(row.id, this.#ends, now.ends))
    const committed = await findCommitted(database, row.key, [seen])
    // The server that had it may have failed meanwhile, before its standby had it, too.
    if (committed === undefined) return false
    this.#acknowledge(committed)
    return committed === sent
  }

  #acknowledge(sent: SentAppend): void {
    this.#ends = sent.end
    this.#checkpoint = sent.checkpoint
    this.#uncertain = []
    acknowledge(sent)
  }

  /** A unique violation means that the logs have rows after the end that the session's row names. */
  #explain(error: unknown): unknown {
    if (sqlState(error) !== '23505') return error
    this.#stopped = new StintError(
      'JOURNAL_CORRUPT',
      `session ${this.#options.row.id} has records beyond its end`,
      { cause: error, hint: '`stint sessions verify` shows the damage; restore the session from a backup.' },
    )
    return this.#stopped
  }

  #inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const turn = this.#queue.then(act)
    this.#queue = turn.catch(() => {})
    return turn
  }
}
