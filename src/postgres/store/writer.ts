import type { Clock } from '../../base/process/clock.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { type LogEntry, sessionFenced, type WriteGuard } from '../../session/index.ts'
import { isUncertain, sqlState } from '../postgres-errors.ts'
import { LazyCommit, type LogEnds, type LogName } from '../../session/log/index.ts'
import { appendStatement } from './append-statement.ts'
import {
  announce,
  type Attempt,
  attemptOf,
  findLanded,
  isSame,
  type Listener,
  lost,
  type Written,
} from './uncertain-append.ts'
import { type Body, bodyOf, encodeBatch } from './batch.ts'
import type { Database } from '../database.ts'
import { rowOf, selectRows, type SessionRow } from './session-row.ts'

export interface WriterOptions {
  database: Database
  clock: Clock
  row: SessionRow
  token: string
  guard: WriteGuard
}

export interface WriteOptions {
  /** False: it may wait for others, but no longer than a moment. */
  durable?: boolean
  /** Called when the record counts, before anything else can happen. */
  applied?: (written: Written) => void
}

interface Pending extends Body, Listener {
  reject: (error: unknown) => void
}

/** What one statement may bring. */
const most = { items: 4096, bytes: 4 << 20 }
const maxSurprises = 5

/**
 * Appends to both logs of a session: one transaction at a time, and whatever gathers meanwhile goes into the next. Each one says from which record on it writes,
 * so it can be sent again when its answer was lost: it is carried out once, or it is found to have been.
 */
export class SessionWriter {
  readonly #options: WriterOptions
  readonly #lazy = new LazyCommit(() => this.#commitSoon())
  #pending: Pending[] = []
  #loop: Promise<void> | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #ends: LogEnds
  #stamped = ''
  /** Those that were given up on: one of them may be there, or come yet. No more than one: they all begin at the same record. */
  #unsure: Attempt[] = []
  #broken: unknown

  constructor(options: WriterOptions) {
    this.#options = options
    this.#ends = options.row.ends
  }

  /** After the last records that were acknowledged. */
  get ends(): LogEnds {
    return this.#ends
  }

  append(log: LogName, entry: LogEntry, { durable = true, applied }: WriteOptions = {}): Promise<Written> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    return new Promise((resolve, reject) => {
      const body = bodyOf(log, entry, this.#options.clock.now())
      this.#pending.push({ ...body, applied, resolve, reject })
      if (durable) this.#commitSoon()
      else this.#lazy.schedule()
    })
  }

  /** On return everything so far was acknowledged or rejected. */
  async flush(): Promise<void> {
    if (this.#pending.length > 0) this.#commitSoon()
    while (this.#loop !== undefined) await this.#loop
  }

  /** Between two batches, and with where the logs really end. */
  async exclusively<Result>(act: () => Promise<Result>): Promise<Result> {
    return await this.#inTurn(async () => {
      if (this.#broken !== undefined) throw this.#broken
      if (this.#unsure.length > 0) await this.#settle()
      return await act()
    })
  }

  /** Nothing can be written any more. */
  shut(reason: unknown): void {
    this.#broken ??= reason
  }

  #commitSoon(): void {
    this.#lazy.cancel()
    this.#loop ??= this.#commitAll().finally(() => (this.#loop = undefined))
  }

  async #commitAll(): Promise<void> {
    for (;;) {
      // All who were answered in this round may ask again.
      await new Promise((resolve) => setImmediate(resolve))
      const items = this.#nextItems()
      if (items.length === 0) return
      await this.#inTurn(() => this.#commit(items))
    }
  }

  #nextItems(): Pending[] {
    let [count, bytes] = [0, 0]
    for (const { text, blob } of this.#pending) {
      bytes += text.length + (blob?.bytes ?? 0)
      if (count > 0 && (bytes > most.bytes || count === most.items)) break
      count += 1
    }
    return this.#pending.splice(0, count)
  }

  async #commit(items: readonly Pending[]): Promise<void> {
    try {
      await this.#write(items)
    } catch (error) {
      for (const { reject } of items) reject(error)
    }
  }

  async #write(items: readonly Pending[]): Promise<void> {
    const { database, row, token, guard } = this.#options
    for (let surprises = 0; surprises < maxSurprises; surprises++) {
      if (this.#broken !== undefined) throw this.#broken
      const batch = encodeBatch(items, this.#ends, row.epoch, this.#stamped)
      for (const text of [...batch.audit.lines, ...batch.journal.lines]) guard.check(Buffer.from(text))
      for (const { content } of batch.contents) guard.check(Buffer.from(content))
      const attempt = attemptOf(batch, items)
      try {
        const rows = await database.retry(() => database.query(...appendStatement(row.key, token, batch)))
        if (rows.length > 0) return this.#acknowledge(attempt)
        // It changed nothing: it was carried out before, or somebody else has come, or an earlier one has landed after all.
        if (await this.#settle(attempt)) return
      } catch (error) {
        if (isUncertain(error)) this.#unsure.push(attempt)
        throw this.#explain(error)
      }
    }
    throw new Error('the session says again and again that nothing has changed, and that it has')
  }

  /** Reads what became of it: true if this attempt is there. */
  async #settle(attempt?: Attempt): Promise<boolean> {
    const { database, row, token } = this.#options
    const candidates = attempt === undefined ? this.#unsure : [attempt, ...this.#unsure]
    const [found] = await database.retry(() => database.query(selectRows('key = $1'), row.key))
    const now = found === undefined ? undefined : rowOf(found)
    if (now?.token !== token) {
      const landed = await findLanded(database, row.key, candidates)
      if (landed !== undefined) this.#acknowledge(landed)
      this.#broken = sessionFenced(row.id)
      if (landed !== undefined && landed === attempt) return true
      throw this.#broken
    }
    if (isSame(now.ends, this.#ends)) return false
    const landed = candidates.find(({ end }) => isSame(end, now.ends))
    if (landed === undefined) throw (this.#broken = lost(row.id, this.#ends, now.ends))
    this.#acknowledge(landed)
    return landed === attempt
  }

  #acknowledge(attempt: Attempt): void {
    this.#ends = attempt.end
    this.#stamped = attempt.stamp
    this.#unsure = []
    announce(attempt)
  }

  #explain(error: unknown): unknown {
    if (sqlState(error) !== '23505') return error
    this.#broken = new StintError(
      'JOURNAL_CORRUPT',
      `session ${this.#options.row.id} has records beyond its end`,
      { cause: error, hint: '`stint sessions verify` shows the damage; restore the session from a backup.' },
    )
    return this.#broken
  }

  #inTurn<Result>(act: () => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(act)
    this.#turn = turn.catch(() => {})
    return turn
  }
}
