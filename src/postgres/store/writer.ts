import type { Clock } from '../../primitives/clock.ts'
import { StintError } from '../../primitives/stint-error.ts'
import type { Entry, Hold } from '../../store/driver.ts'
import { causeOf, sqlStateOf } from '../explain.ts'
import { appendStatement } from './append-statement.ts'
import { type Batch, type Body, bodyOf, encodeBatch } from './batch.ts'
import { type Database, isUnknown } from './database.ts'
import { sessionFenced } from '../../store/holder.ts'
import { type LogName, tailOf } from './log-lines.ts'
import { type Ends, rowOf, selectRows, type SessionRow } from './session-row.ts'

export interface WriterOptions {
  database: Database
  clock: Clock
  row: SessionRow
  token: string
  inspect: Hold['inspect']
}

/** A record that is there. */
export interface Written {
  seq: number
  at: number
  /** Its sum, or its hash. */
  tail: string
}

export interface WriteOptions {
  /** False: it may wait for others, but no longer than a moment. */
  durable?: boolean
  /** Called when the record counts, before anything else can happen. */
  applied?: (written: Written) => void
  /** The entry of the spool that it came from. */
  mark?: string
}

interface Pending extends Body, Pick<WriteOptions, 'applied'> {
  resolve: (written: Written) => void
  reject: (error: unknown) => void
}

/** As much of a batch that was sent as is needed to know it again: the texts may be many, and the server away for long. */
interface Attempt extends Pick<Batch, 'end' | 'stamp' | 'places'> {
  log: LogName
  heard: readonly Pick<Pending, 'at' | 'applied' | 'resolve'>[]
}

/** How long a record that nobody waits for may stay in memory. */
const lazyMs = 50
/** What one statement may bring. */
const most = { items: 4096, bytes: 4 << 20 }
const maxSurprises = 5

/**
 * Appends to both logs of a session: one transaction at a time, and whatever gathers meanwhile goes into the next. Each one says from which record on it writes,
 * so it can be sent again when its answer was lost: it is carried out once, or it is found to have been.
 */
export class SessionWriter {
  readonly #options: WriterOptions
  #pending: Pending[] = []
  #lazyTimer: NodeJS.Timeout | undefined
  #loop: Promise<void> | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #ends: Ends
  #stamped = ''
  /** Those that were given up on: one of them may be there, or come yet. No more than one: they all begin at the same record. */
  #unsure: Attempt[] = []
  #broken: unknown

  constructor(options: WriterOptions) {
    this.#options = options
    this.#ends = options.row.ends
  }

  /** After the last records that were acknowledged. */
  get ends(): Ends {
    return this.#ends
  }

  append(log: LogName, entry: Entry, { durable = true, applied, mark }: WriteOptions = {}): Promise<Written> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    return new Promise((resolve, reject) => {
      const body = bodyOf(log, entry, this.#options.clock.now(), mark)
      this.#pending.push({ ...body, applied, resolve, reject })
      if (durable) this.#commitSoon()
      else this.#lazyTimer ??= setTimeout(() => this.#commitSoon(), lazyMs).unref()
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
    clearTimeout(this.#lazyTimer)
    this.#lazyTimer = undefined
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
    const { database, row, token, inspect } = this.#options
    for (let surprises = 0; surprises < maxSurprises; surprises++) {
      if (this.#broken !== undefined) throw this.#broken
      const batch = encodeBatch(items, this.#ends, row.epoch, this.#stamped)
      for (const text of [...batch.audit.lines, ...batch.journal.lines]) inspect?.(Buffer.from(text))
      for (const { content } of batch.contents) inspect?.(Buffer.from(content))
      const attempt = attemptOf(batch, items)
      try {
        const rows = await database.insist(() => database.query(...appendStatement(row.key, token, batch)))
        if (rows.length > 0) return this.#acknowledge(attempt)
        // It changed nothing: it was carried out before, or somebody else has come, or an earlier one has landed after all.
        if (await this.#settle(attempt)) return
      } catch (error) {
        if (isUnknown(error)) this.#unsure.push(attempt)
        throw this.#explain(error)
      }
    }
    throw new Error('the session says again and again that nothing has changed, and that it has')
  }

  /** Reads what became of it: true if this attempt is there. */
  async #settle(attempt?: Attempt): Promise<boolean> {
    const { database, row, token } = this.#options
    const candidates = attempt === undefined ? this.#unsure : [attempt, ...this.#unsure]
    const [found] = await database.insist(() => database.query(selectRows('key = $1'), row.key))
    const now = found === undefined ? undefined : rowOf(found)
    if (now?.token !== token) {
      const landed = await this.#findLanded(candidates)
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

  /** The session is somebody else's. Was one of these carried out before that? */
  async #findLanded(candidates: readonly Attempt[]): Promise<Attempt | undefined> {
    const { database, row } = this.#options
    for (const attempt of candidates) {
      const { log, end } = attempt
      const { seq, tail } = end[log]
      const sql = `SELECT line FROM stint.${log} WHERE session = $1 AND seq = $2`
      const [there] = await database.insist(() => database.query(sql, row.key, seq))
      if (there !== undefined && tailOf(log, String(there.line)) === tail) return attempt
    }
    return undefined
  }

  #acknowledge({ end, stamp, places, heard }: Attempt): void {
    this.#ends = end
    this.#stamped = stamp
    this.#unsure = []
    heard.forEach(({ at, applied, resolve }, i) => {
      const { seq = 0, tail = '' } = places[i] ?? {}
      const written = { seq, at, tail }
      applied?.(written)
      // Of one that was given up on nobody hears it any more; but it counts.
      resolve(written)
    })
  }

  #explain(error: unknown): unknown {
    if (sqlStateOf(causeOf(error)) !== '23505') return error
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

const attemptOf = ({ end, stamp, places, journal }: Batch, items: readonly Pending[]): Attempt => ({
  end,
  stamp,
  places,
  log: journal.lines.length > 0 ? 'journal' : 'audit',
  heard: items.map(({ at, applied, resolve }) => ({ at, applied, resolve })),
})

const isSame = (a: Ends, b: Ends): boolean =>
  (['journal', 'audit'] as const).every((log) => a[log].seq === b[log].seq && a[log].tail === b[log].tail)

/** A replica took over that did not have everything yet, or a backup was put in place. */
const lost = (id: string, ours: Ends, theirs: Ends): StintError =>
  new StintError(
    'JOURNAL_CORRUPT',
    `session ${id} ends at record ${theirs.journal.seq}, and ${ours.journal.seq} was acknowledged: the server has lost what it had`,
    {
      hint: 'Resume the session to go on from what is there; find out which server answers, and what it was restored from.',
    },
  )
