import type { Clock } from '../../base/process/clock.ts'
import { type HeldMedium, type LogGroup, UncertainAppend } from '../medium.ts'
import { lostRecords } from '../session-errors.ts'
import type { AppendOptions } from '../store.ts'
import { checkpointAt, codecs, isSameEnd, type LogEnd, type LogName } from './codec.ts'
import type { AuditCheckpoint, StoredReceipt } from './record.ts'

export interface RecordOptions extends AppendOptions {
  /** Called synchronously when the record is durable, before a snapshot could be taken without its effect. */
  applied?: (receipt: StoredReceipt) => void
}

interface LogWriterOptions {
  log: LogName
  medium: HeldMedium
  /** Runs everything that the session writes, except for heartbeats, one operation at a time. */
  queue: OperationQueue
  /** Where the log ends. */
  end: LogEnd
  clock: Clock
  /** Throws if these bytes must not be written. */
  check: (bytes: Buffer) => void
  /** The writer of the audit log, for the journal: it attests how far that log has come. */
  audit?: LogWriter
}

/** The body of a line, or a function that stores the data of a large record and returns the body. */
export type RecordBody = string | (() => Promise<string>)

/** A record that a caller waits for. */
interface GatheredRecord {
  body: RecordBody
  /** Does the next record belong to the same append? */
  continued: boolean
  /** Its `seq` is 0 until the record is encoded, with its group. */
  receipt: StoredReceipt
  applied: RecordOptions['applied']
}

/** Records that are written together. They settle together, through one promise. */
class Group {
  readonly records: GatheredRecord[] = []
  /** Must the data of a record be stored before the lines are written? Such an append is a group alone. */
  readonly storesData: boolean
  readonly written: Promise<void>
  resolve!: () => void
  reject!: (error: unknown) => void
  #size = 0

  constructor(storesData: boolean) {
    this.storesData = storesData
    this.written = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  add(record: GatheredRecord): void {
    this.records.push(record)
    this.#size += record.body.length
  }

  /** Encoding a larger group would keep the event loop for milliseconds. */
  get hasRoom(): boolean {
    return !this.storesData && this.records.length < 2048 && this.#size < 1 << 20
  }
}

/** How long a record with `durable: false` waits for others before it is committed, in milliseconds. */
const lazyMs = 50

/**
 * Appends records so that each is durable when its promise resolves. The records that gather during a turn of
 * the event loop, or while another operation of the session is under way, are one group, which the medium
 * adds at once. The queue of the session has one group under way at a time.
 */
export class LogWriter {
  readonly #options: LogWriterOptions
  #gathering: Group[] = []
  #isScheduled = false
  #isQueued = false
  #lazyTimer: NodeJS.Timeout | undefined
  #end: LogEnd
  /** How many audit lines the last group has attested. */
  #attested = 0
  #closed: unknown
  /** Groups that were rejected because their fate was unknown: at most one of them is in the log. */
  #doubtful: { end: LogEnd; records: readonly Pick<GatheredRecord, 'receipt' | 'applied'>[] }[] = []

  constructor(options: LogWriterOptions) {
    this.#options = options
    this.#end = options.end
  }

  /** After the last acknowledged record. */
  get end(): LogEnd {
    return this.#end
  }

  /** Are there records that no commit has taken yet? */
  get hasGathered(): boolean {
    return this.#gathering.length > 0
  }

  /** Resolves when the record is durable. With `durable: false` it may wait up to 50 ms for other records. */
  append(body: RecordBody, { durable = true, applied }: RecordOptions = {}): Promise<StoredReceipt> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed)
    // Before a group is made: the clock may be a program's own, and throw.
    const receipt: StoredReceipt = { seq: 0, at: this.#options.clock.now() }
    const group = this.#groupFor(typeof body !== 'string')
    group.add({ body, continued: false, receipt, applied })
    this.#commitSoon(durable)
    return group.written.then(() => receipt)
  }

  /** Appends records that count only together. They are in one group, and all are durable or none. */
  async appendAll(
    bodies: readonly RecordBody[],
    { durable = true }: AppendOptions = {},
  ): Promise<StoredReceipt[]> {
    if (this.#closed !== undefined) throw this.#closed
    const at = this.#options.clock.now()
    const group = this.#groupFor(bodies.some((body) => typeof body !== 'string'))
    const receipts = bodies.map((body, index): StoredReceipt => {
      const receipt = { seq: 0, at }
      const continued = index < bodies.length - 1
      group.add({ body, continued, receipt, applied: undefined })
      return receipt
    })
    this.#commitSoon(durable)
    await group.written
    return receipts
  }

  #groupFor(storesData: boolean): Group {
    const last = this.#gathering.at(-1)
    if (last?.hasRoom && !storesData) return last
    const group = new Group(storesData)
    this.#gathering.push(group)
    return group
  }

  /** Has the gathered records written when the operations that the session has begun are done. */
  async commit(): Promise<void> {
    this.#cancelLazy()
    this.#isScheduled = false
    if (this.#isQueued || !this.hasGathered) return
    this.#isQueued = true
    await this.#options.queue.run(async () => {
      this.#isQueued = false
      if (!(await this.#commitGathered())) this.#commitSoon(true)
    })
  }

  /** Commits the records gathered so far, while no other operation of the session is under way. */
  async flush(): Promise<void> {
    while (!(await this.#commitGathered()));
  }

  /** Commits, and rejects every later append with this reason. */
  async close(reason: unknown): Promise<void> {
    await this.flush()
    this.#closed ??= reason
  }

  #commitSoon(durable: boolean): void {
    if (!durable) {
      // The timer is not unref'd: a program may wait for this append and nothing else.
      this.#lazyTimer ??= setTimeout(() => void this.commit(), lazyMs)
    } else if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(() => void this.commit())
    }
  }

  #cancelLazy(): void {
    clearTimeout(this.#lazyTimer)
    this.#lazyTimer = undefined
  }

  /**
   * Commits the records gathered until now. If a group fails, it returns false and leaves those after it for
   * another commit: the callers of that group hear of it before a later record is durable.
   *
   * A journal record may join a commit that was queued before an earlier audit line was appended. So the
   * journal takes its records first and then has the audit lines written: no crash keeps a journal record and
   * loses an audit line that was appended before it.
   */
  async #commitGathered(): Promise<boolean> {
    this.#cancelLazy()
    const groups = this.#gathering
    this.#gathering = []
    let isDone = true
    let bug: unknown
    const { audit } = this.#options
    if (audit?.hasGathered) await audit.flush().catch((error: unknown) => (bug = error))
    for (const [index, group] of groups.entries()) {
      try {
        await this.#write(group)
      } catch (error) {
        group.reject(error)
        const later = groups.slice(index + 1)
        this.#gathering = [...later, ...this.#gathering]
        isDone = later.length === 0
        break
      }
      // The records are durable, so their appends resolve even if a callback has a bug and throws.
      try {
        applyAll(group.records)
      } catch (error) {
        bug ??= error
      }
      group.resolve()
    }
    if (bug !== undefined) throw bug
    return isDone
  }

  async #write({ records, storesData }: Group): Promise<void> {
    const { medium, log, check, audit } = this.#options
    if (this.#closed !== undefined) throw this.#closed
    // The data of large records is stored before the lines that name it are written.
    if (storesData)
      for (const record of records) if (typeof record.body !== 'string') record.body = await record.body()
    for (;;) {
      const attested = audit?.end.seq ?? 0
      const isNews = audit !== undefined && attested > this.#attested
      const group = this.#encode(records, isNews ? checkpointAt(audit.end) : undefined)
      check(group.lines)
      const end = await medium.append(log, group).catch((error: unknown) => {
        if (!(error instanceof UncertainAppend)) throw error
        const doubtful = records.map(({ receipt, applied }) => ({ receipt: { ...receipt }, applied }))
        this.#doubtful.push({ end: group.end, records: doubtful })
        throw error.reason
      })
      if (!isSameEnd(end, group.end)) {
        this.#adopt(end)
        continue
      }
      this.#attested = attested
      this.#moveTo(end)
      return
    }
  }

  /** Takes over a group that was rejected and is in the log after all, because the log ends with it. */
  #adopt(end: LogEnd): void {
    const group = this.#doubtful.find((doubtful) => isSameEnd(doubtful.end, end))
    const { session_id: id } = this.#options.medium.manifest
    if (group === undefined) throw lostRecords(id, this.#options.log, this.#end.seq, end.seq)
    this.#moveTo(end)
    applyAll(group.records)
  }

  #moveTo(end: LogEnd): void {
    this.#end = end
    this.#doubtful = []
  }

  /** Numbers the records and encodes their lines. */
  #encode(records: readonly GatheredRecord[], checkpoint: AuditCheckpoint | undefined): LogGroup {
    const { log, medium } = this.#options
    const { epoch } = medium
    const group = this.#end.seq + 1
    let { seq, sum } = this.#end
    let lines = ''
    for (const { body, continued, receipt } of records) {
      seq += 1
      const audit = seq === group ? checkpoint : undefined
      const header = { seq, at: receipt.at, group, epoch, continued, audit }
      const encoded = codecs[log].encode(header, body as string, sum)
      sum = encoded.sum
      lines += `${encoded.line}\n`
      receipt.seq = seq
      if (log === 'audit') receipt.hash = sum
    }
    return { lines: Buffer.from(lines), end: { seq, sum }, lastAt: records.at(-1)?.receipt.at ?? 0 }
  }
}

function applyAll(records: readonly Pick<GatheredRecord, 'receipt' | 'applied'>[]): void {
  for (const { receipt, applied } of records) applied?.(receipt)
}

/** Runs the operations of one session, one at a time and in order. */
export class OperationQueue {
  #last: Promise<unknown> | undefined

  /** Runs an operation after those before it; at once if there are none. */
  run<Result>(operation: () => Promise<Result>): Promise<Result> {
    const before = this.#last
    const running = before === undefined ? operation() : before.then(nextTurn).then(operation)
    const ended = running.then(nothing, nothing).then(() => {
      if (this.#last === ended) this.#last = undefined
    })
    this.#last = ended
    return running
  }
}

const nothing = (): void => {}

/**
 * The next operation begins in a later turn of the event loop: callers that were just answered can add their
 * next records to the group that is waiting.
 */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
