import type { Clock } from '../../base/process/clock.ts'
import { type HeldMedium, type LogGroup, UncertainAppend } from '../medium.ts'
import { lostRecords } from '../session-errors.ts'
import type { AppendOptions } from '../store.ts'
import { codecs } from './codec.ts'
import { LineBuffer } from './line-checksum.ts'
import { isSameEnd, type LogEnd, type LogName } from './log-end.ts'
import type { StoredReceipt } from './record.ts'

export interface RecordOptions extends AppendOptions {
  /** Called synchronously when the record is durable, before a snapshot could be taken without its effect. */
  applied?: (receipt: StoredReceipt) => void
}

export interface LogWriterOptions {
  log: LogName
  medium: HeldMedium
  /** Runs everything that the session does on its medium, one operation at a time. */
  queue: OperationQueue
  /** Where the log ends. */
  end: LogEnd
  clock: Clock
  /** Throws if these bytes must not be written. */
  check: (bytes: Buffer) => void
  /** Does what must be done before the records that a commit has taken are written. */
  prepare: () => Promise<void>
  /**
   * Fields that the first record of a group carries, as `,"name":value`: how far the other log has come. They
   * are written only if they have changed since the last group; '' for none.
   */
  checkpoint: () => string
}

/** The body of a line, or a function that stores the data of a large record and returns the body. */
export type RecordBody = string | (() => Promise<string>)

/** A record that a caller waits for. */
interface GatheredRecord {
  body: RecordBody
  isTurn: boolean
  /** Its `seq` is 0 until the record is encoded, with its group. */
  receipt: StoredReceipt
  applied: RecordOptions['applied']
  /** Rejects this record alone, if its data cannot be stored. */
  reject?: (error: unknown) => void
  /** The records of its append, this one included, if that has several. */
  together?: readonly GatheredRecord[]
}

/** Records that are written together. They settle together, through one promise. */
class Group {
  records: GatheredRecord[] = []
  /** About how many bytes their lines have. */
  size = 0
  /** Must the data of a record be stored before the lines are written? */
  storesData = false
  readonly written: Promise<void>
  resolve!: () => void
  reject!: (error: unknown) => void

  constructor() {
    this.written = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }
}

/** Encoding a larger group would keep the event loop for milliseconds. */
const maxGroupRecords = 2048
const maxGroupBytes = 1 << 20

/**
 * Appends records so that each is durable when its promise resolves. The records that gather during a turn of
 * the event loop, or while another operation of the session is under way, are one group, which the medium
 * adds at once. The queue of the session has one group under way at a time.
 */
export class LogWriter {
  readonly #options: LogWriterOptions
  readonly #lines = new LineBuffer()
  #gathering: Group[] = []
  #isScheduled = false
  #isQueued = false
  #lazyTimer: NodeJS.Timeout | undefined
  #end: LogEnd
  #checkpoint = ''
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

  /** Resolves when the record is durable. With `durable: false` it may wait up to 50 ms for other records. */
  append(
    body: RecordBody,
    { durable = true, applied }: RecordOptions = {},
    isTurn = false,
  ): Promise<StoredReceipt> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed)
    // Before a group is made: the clock may be a program's own, and throw.
    const receipt: StoredReceipt = { seq: 0, at: this.#options.clock.now() }
    const group = this.#groupWithRoom()
    const record: GatheredRecord = { body, isTurn, receipt, applied }
    group.records.push(record)
    this.#commitSoon(durable)
    if (typeof body !== 'string') {
      group.storesData = true
      return new Promise((resolve, reject) => {
        record.reject = reject
        group.written.then(() => resolve(receipt), reject)
      })
    }
    group.size += body.length
    return group.written.then(() => receipt)
  }

  /** Appends records that count only together. They are in one group, and all are durable or none. */
  appendAll(bodies: readonly RecordBody[], { durable = true }: AppendOptions = {}): Promise<StoredReceipt[]> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed)
    const at = this.#options.clock.now()
    const group = this.#groupWithRoom()
    return new Promise((resolve, reject) => {
      const together: GatheredRecord[] = []
      for (const body of bodies) {
        if (typeof body === 'string') group.size += body.length
        else group.storesData = true
        together.push({ body, isTurn: false, receipt: { seq: 0, at }, applied: undefined, reject, together })
      }
      for (const record of together) group.records.push(record)
      group.written.then(() => resolve(together.map(({ receipt }) => receipt)), reject)
      this.#commitSoon(durable)
    })
  }

  #groupWithRoom(): Group {
    const last = this.#gathering.at(-1)
    if (last !== undefined && last.records.length < maxGroupRecords && last.size < maxGroupBytes) return last
    const group = new Group()
    this.#gathering.push(group)
    return group
  }

  /** Has the gathered records written when the operations that the session has begun are done. */
  async commit(): Promise<void> {
    this.#cancelLazy()
    this.#isScheduled = false
    if (this.#isQueued || this.#gathering.length === 0) return
    this.#isQueued = true
    await this.#options.queue.run(() => this.#commitOnce())
  }

  /** Commits all records gathered so far. */
  async flush(): Promise<void> {
    while (await this.#commitGathered());
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

  /** Begins when no other operation of the session is under way. */
  async #commitOnce(): Promise<void> {
    this.#isQueued = false
    if (await this.#commitGathered()) this.#commitSoon(true)
  }

  /**
   * Commits the records gathered until now. Returns whether some must wait for another commit, because the
   * data of a record before them could not be stored: its caller hears of it before they are durable.
   */
  async #commitGathered(): Promise<boolean> {
    this.#cancelLazy()
    const groups = this.#gathering
    this.#gathering = []
    let bug: unknown
    try {
      await this.#options.prepare()
    } catch (error) {
      bug = error
    }
    for (const [i, group] of groups.entries()) {
      try {
        if (this.#closed !== undefined) throw this.#closed
        if (group.storesData && !(await this.#storeData(group))) {
          this.#gathering = [...groups.slice(i), ...this.#gathering]
          return true
        }
        if (group.records.length > 0) await this.#write(group.records)
      } catch (error) {
        group.reject(error)
        continue
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
    return false
  }

  async #write(records: readonly GatheredRecord[]): Promise<void> {
    const { medium, log, check } = this.#options
    const checkpoint = this.#options.checkpoint()
    for (;;) {
      const group = this.#encode(records, checkpoint === this.#checkpoint ? '' : checkpoint)
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
      this.#checkpoint = checkpoint
      this.#moveTo(end)
      return
    }
  }

  /** Takes over a group that was rejected and is in the log after all, because the log ends with it. */
  #adopt(end: LogEnd): void {
    const group = this.#doubtful.find((each) => isSameEnd(each.end, end))
    const { session_id: id } = this.#options.medium.manifest
    if (group === undefined) throw lostRecords(id, this.#options.log, this.#end.seq, end.seq)
    this.#moveTo(end)
    // The checkpoint that it carries may be another one than the last that was acknowledged.
    this.#checkpoint = ''
    applyAll(group.records)
  }

  #moveTo(end: LogEnd): void {
    this.#end = end
    this.#doubtful = []
  }

  /** Stores the data of large records, before the lines that name it are written. False if that failed. */
  async #storeData(group: Group): Promise<boolean> {
    const failed = new Set<GatheredRecord>()
    for (const record of group.records) {
      if (typeof record.body === 'string' || failed.has(record)) continue
      try {
        record.body = await record.body()
      } catch (error) {
        for (const each of record.together ?? [record]) failed.add(each)
        record.reject?.(error)
      }
    }
    group.records = group.records.filter((record) => !failed.has(record))
    return failed.size === 0
  }

  /** Numbers the records and encodes their lines, which are valid until the next call. */
  #encode(records: readonly GatheredRecord[], checkpoint: string): LogGroup {
    const { log, medium } = this.#options
    const codec = codecs[log]
    const lines = this.#lines
    lines.clear()
    const first = this.#end.seq + 1
    let { seq, sum } = this.#end
    let turns = 0
    for (const { body, isTurn, receipt } of records) {
      seq += 1
      const text = seq === first ? `${body as string}${checkpoint}` : (body as string)
      lines.add(codec.text({ seq, at: receipt.at, group: first, epoch: medium.epoch }, text, sum))
      // In a log without a chain, only the sum of the last line is needed.
      if (codec.follows !== undefined) receipt.hash = sum = codec.sumOf(lines.last)
      receipt.seq = seq
      if (isTurn) turns += 1
    }
    const lastAt = records.at(-1)?.receipt.at ?? 0
    return { lines: lines.bytes, end: { seq, sum: codec.sumOf(lines.last) }, lastAt, turns }
  }
}

function applyAll(records: readonly Pick<GatheredRecord, 'receipt' | 'applied'>[]): void {
  for (const { receipt, applied } of records) applied?.(receipt)
}

/** How long a record with `durable: false` waits for others before it is committed, in milliseconds. */
const lazyMs = 50

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
