import { dirname, join } from 'node:path'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'
import { makeIfMissing } from '../../base/fs/disk.ts'
import type { Clock } from '../../base/process/clock.ts'
import type { RecordOptions } from '../driver.ts'
import { sessionClosed } from '../session-errors.ts'
import type { Receipt } from '../store.ts'
import { LineBuffer } from './line-checksum.ts'
import type { AppendPoint, LogName, Position } from './log-end.ts'
import { effectiveSegments, firstSegment, laterSegment, type LogFiles } from './log-files.ts'
import { SegmentFile, type SegmentSizes } from './segment-file.ts'

/** The checks of a session on the commits of its logs. One object serves both logs. */
export interface CommitPolicy {
  /**
   * Fields that the first record of a group in this log carries, as `,"name":value`: how far the other log
   * has come. They are written only if they have changed since the last group; '' for none.
   */
  checkpoint(log: LogName): string
  /** Does what must be done before the records that a commit of this log has taken are written. */
  prepare(log: LogName): Promise<void>
  /** Throws if these bytes must not be written. */
  check(bytes: Buffer): void
  /** Throws `FENCED` if this process no longer holds the lock, or why the lock cannot be read. */
  assertOwned(): void
  /** Turns the error of a failed system call into a coded one. `doing` completes "cannot …". */
  explain(error: unknown, doing: string): unknown
}

export interface LogWriterOptions {
  files: LogFiles
  /** Runs everything that the session does on its disk, one operation at a time. */
  queue: OperationQueue
  start: AppendPoint
  /** The epoch of the hold, which each record carries. */
  epoch: number
  clock: Clock
  policy: CommitPolicy
  sizes: SegmentSizes
}

/** The body of a line, or a function that stores the data of a large record and returns the body. */
export type RecordBody = string | (() => Promise<string>)

interface GatheredRecord {
  body: RecordBody
  /** Its `seq` is 0 until the record is encoded, with its group. */
  receipt: Receipt
  applied: RecordOptions['applied']
  /** Rejects this record alone, if its data cannot be stored. */
  reject?: (error: unknown) => void
  /** The records of its append, this one included, if that has several. */
  together?: readonly GatheredRecord[]
}

/** Records that are written and synced together. They settle together, through one promise. */
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
 * Appends records so that each is on disk when its promise resolves. The records that gather during a turn of
 * the event loop, or while another operation of the session is under way, are one group, with one write and
 * one sync. The queue of the session has one group under way at a time.
 *
 * A write or sync that fails poisons the segment: its group is rejected, the file is cut back to the last
 * acknowledged record, and the next record begins a new segment. So does a lock that cannot be read after the
 * sync. The sync of a segment is never retried: after a failed one, the kernel may have dropped its data and
 * report success. That of its name is, by the next group: a segment without a record has no data to lose.
 */
export class LogWriter {
  readonly #options: LogWriterOptions
  readonly #lines = new LineBuffer()
  readonly #lazy = new LazyCommit(() => void this.commit())
  #gathering: Group[] = []
  #isScheduled = false
  #isQueued = false
  #isOpen = false
  #position: Position
  #lastAt: number | undefined
  #segment: SegmentFile | undefined
  #checkpoint = ''
  #broken: unknown

  constructor(options: LogWriterOptions) {
    this.#options = options
    this.#position = options.start.from
  }

  /** Opens the segment for the next record. A writer that was not opened does it for its first record. */
  async open(): Promise<void> {
    const { files, start } = this.#options
    const { from, continues } = start
    if (files.log === 'audit' && !continues) await makeIfMissing(files.disk, files.directory)
    const segment = continues ? this.#continue(from) : await this.#begin(from.seq + 1)
    await orClose(segment, segment.keepSpare())
    this.#segment = segment
    this.#isOpen = true
  }

  /** Throws if the writer is closed, or can write nothing more. */
  assertUsable(): void {
    if (this.#broken !== undefined) throw this.#broken
  }

  /** The position after the last acknowledged record. */
  get position(): Position {
    return this.#position
  }

  /** When the last record was appended that this writer has acknowledged; undefined if there is none. */
  get lastAt(): number | undefined {
    return this.#lastAt
  }

  /** Resolves when the record is on disk. With `durable: false` it may wait up to 50 ms for other records. */
  append(body: RecordBody, { durable = true, applied }: RecordOptions = {}): Promise<Receipt> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    // Before a group is made: the clock may be a program's own, and throw.
    const receipt = { seq: 0, at: this.#options.clock.now() }
    const group = this.#groupWithRoom()
    const record: GatheredRecord = { body, receipt, applied }
    group.records.push(record)
    if (durable) this.#commitSoon()
    else this.#lazy.schedule()
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

  /** Appends records that count only together. They are in one group, and all are on disk or none. */
  appendAll(bodies: readonly RecordBody[], { durable = true }: RecordOptions = {}): Promise<Receipt[]> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    const at = this.#options.clock.now()
    const group = this.#groupWithRoom()
    return new Promise((resolve, reject) => {
      const together: GatheredRecord[] = []
      for (const body of bodies) {
        if (typeof body === 'string') group.size += body.length
        else group.storesData = true
        together.push({ body, receipt: { seq: 0, at }, applied: undefined, reject, together })
      }
      for (const record of together) group.records.push(record)
      group.written.then(() => resolve(together.map(({ receipt }) => receipt)), reject)
      if (durable) this.#commitSoon()
      else this.#lazy.schedule()
    })
  }

  #groupWithRoom(): Group {
    const last = this.#gathering.at(-1)
    if (last !== undefined && last.records.length < maxGroupRecords && last.size < maxGroupBytes) return last
    const group = new Group()
    this.#gathering.push(group)
    return group
  }

  /** Has the gathered records written and synced when the operations that the session has begun are done. */
  async commit(): Promise<void> {
    this.#lazy.cancel()
    this.#isScheduled = false
    if (this.#isQueued || this.#gathering.length === 0) return
    this.#isQueued = true
    await this.#options.queue.run(() => this.#commitOnce())
  }

  /** Commits all records gathered so far. */
  async flush(): Promise<void> {
    while (await this.#commitGathered());
  }

  /** Commits, cuts the filling off and closes the segment; returns where the log ends. */
  async close(): Promise<Position> {
    await this.flush()
    this.#broken ??= sessionClosed()
    await this.#closeSegment()
    return this.#position
  }

  /** Closes the segment as it is. For a writer whose session could not be opened. */
  abandon(): void {
    this.#segment?.close()
    this.#segment = undefined
  }

  #commitSoon(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => void this.commit())
  }

  /** Begins when no other operation of the session is under way. */
  async #commitOnce(): Promise<void> {
    this.#isQueued = false
    if (await this.#commitGathered()) this.#commitSoon()
  }

  /**
   * Commits the records gathered until now. Returns whether some must wait for another commit, because the
   * data of a record before them could not be stored: its caller hears of it before they are on disk.
   */
  async #commitGathered(): Promise<boolean> {
    this.#lazy.cancel()
    const groups = this.#gathering
    this.#gathering = []
    let bug: unknown
    try {
      await this.#options.policy.prepare(this.#options.files.log)
    } catch (error) {
      bug = error
    }
    for (const [i, group] of groups.entries()) {
      try {
        this.assertUsable()
        if (group.storesData && !(await this.#storeData(group))) {
          this.#gathering = [...groups.slice(i), ...this.#gathering]
          return true
        }
        await this.#write(group.records)
      } catch (error) {
        group.reject(this.#explain(error))
        continue
      }
      // The records are on disk, so their appends resolve even if a callback has a bug and throws.
      try {
        for (const { receipt, applied } of group.records) applied?.(receipt)
      } catch (error) {
        bug ??= error
      }
      group.resolve()
    }
    if (bug !== undefined) throw bug
    return false
  }

  #explain(error: unknown): unknown {
    const { policy, files } = this.#options
    return policy.explain(error, `write to the ${files.log}`)
  }

  async #write(records: readonly GatheredRecord[]): Promise<void> {
    const { files, policy, sizes } = this.#options
    if (records.length === 0) return
    if (!this.#isOpen) await this.open()
    const checkpoint = policy.checkpoint(files.log)
    const firstSeq = this.#position.seq + 1
    const sum = this.#encode(records, firstSeq, checkpoint === this.#checkpoint ? '' : checkpoint)
    const { bytes } = this.#lines
    policy.check(bytes)
    if (this.#segment !== undefined && this.#segment.end >= sizes.segmentBytes) await this.#closeSegment()
    const segment = (this.#segment ??= await this.#begin(firstSeq))
    await this.#syncName(segment)
    try {
      await segment.write(bytes)
      // If this process was suspended, another writer may have taken the session over. Re-check the lock
      // before acknowledging: a record in a superseded segment is never read.
      policy.assertOwned()
    } catch (error) {
      throw await this.#poison(segment, error)
    }
    segment.accept(bytes)
    this.#checkpoint = checkpoint
    this.#lastAt = records.at(-1)?.receipt.at
    this.#position = { seq: firstSeq + records.length - 1, sum, segment: segment.name, offset: segment.end }
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
        record.reject?.(this.#explain(error))
      }
    }
    group.records = group.records.filter((record) => !failed.has(record))
    return failed.size === 0
  }

  /** Numbers the records, encodes their lines, and returns the sum of the last. */
  #encode(records: readonly GatheredRecord[], firstSeq: number, checkpoint: string): string {
    const { files, epoch } = this.#options
    const { codec } = files
    const lines = this.#lines
    lines.clear()
    let { sum } = this.#position
    let seq = firstSeq
    for (const { body, receipt } of records) {
      const text = seq === firstSeq ? `${body as string}${checkpoint}` : (body as string)
      lines.add(codec.text({ seq, at: receipt.at, group: firstSeq, epoch }, text, sum))
      // In a log without a chain, only the sum of the last line is needed.
      if (codec.follows !== undefined) sum = codec.sumOf(lines.last)
      receipt.seq = seq++
    }
    return codec.sumOf(lines.last)
  }

  /**
   * Makes the name of a segment durable before its first record, so that a segment with a record in it always
   * has a durable name. A writer that never writes to the log need not wait for that.
   */
  async #syncName(segment: SegmentFile): Promise<void> {
    if (segment.isNamed) return
    const { disk, directory, log } = this.#options.files
    if (log === 'audit') await disk.syncDirectory(dirname(directory))
    await disk.syncDirectory(directory)
    segment.isNamed = true
  }

  #continue({ segment: name, offset: end }: Position): SegmentFile {
    const { files, sizes, start } = this.#options
    const { disk, directory } = files
    const file = disk.open(join(directory, name))
    // A segment without a record may be one whose maker died before it synced the name.
    const isNamed = end > 0 || start.isNew === true
    return new SegmentFile(disk, name, file, sizes, { end, allocated: disk.size(file), isNamed })
  }

  async #begin(firstSeq: number): Promise<SegmentFile> {
    return (firstSeq === 1 ? await this.#createFirst() : undefined) ?? (await this.#createLater(firstSeq))
  }

  /** Every other segment supersedes the plain name, so it is only for a log that has no segment yet. */
  async #createFirst(): Promise<SegmentFile | undefined> {
    const { files, sizes, start } = this.#options
    const { disk, directory, log } = files
    const name = firstSegment(log)
    if (start.isNew || effectiveSegments(log, disk.list(directory)).length === 0) {
      try {
        return new SegmentFile(disk, name, await disk.create(join(directory, name)), sizes)
      } catch (error) {
        if (errorCode(error) !== 'EEXIST') throw error
      }
    }
    // The segment that is there belongs to a dead writer or to this one. If it belongs to a writer that has
    // taken the session over, a segment with this writer's epoch would supersede it.
    this.#options.policy.assertOwned()
    return undefined
  }

  async #createLater(firstSeq: number): Promise<SegmentFile> {
    const { files, epoch, sizes } = this.#options
    const { disk, directory, log } = files
    const name = laterSegment(log, firstSeq, epoch)
    const path = join(directory, name)
    try {
      return new SegmentFile(disk, name, await disk.create(path), sizes)
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
    }
    // Left by a poisoned segment or by an opening that failed: nothing in it was acknowledged.
    const file = disk.open(path)
    try {
      await disk.truncate(file, 0)
    } catch (error) {
      disk.close(file)
      throw error
    }
    return new SegmentFile(disk, name, file, sizes)
  }

  async #closeSegment(): Promise<void> {
    const segment = this.#segment
    this.#segment = undefined
    if (segment !== undefined) await segment.finish()
  }

  /**
   * Cuts a segment back to its last acknowledged record, so that the rejected group is absent, and returns
   * the error that rejects it. A writer that cannot cut, or has lost its lock, writes nothing more: then the
   * next holder may have read the group, or will read it.
   */
  async #poison(segment: SegmentFile, error: unknown): Promise<unknown> {
    this.#segment = undefined
    if (errorCode(error) === 'FENCED') {
      segment.close()
      return (this.#broken = error)
    }
    try {
      await segment.truncateAndClose()
      return error
    } catch (cause) {
      const { log } = this.#options.files
      const message = `cannot cut off a rejected record of the ${log}: it may turn up when the session is resumed`
      return (this.#broken = new StintError('DISK_FAILED', message, { cause }))
    }
  }
}

/** Acts on a segment that was just opened, and closes it if that fails: no other code knows of it. */
async function orClose(segment: SegmentFile, act: Promise<void>): Promise<void> {
  try {
    await act
  } catch (error) {
    segment.close()
    throw error
  }
}

/** How long a record with `durable: false` waits for others before it is committed, in milliseconds. */
const lazyMs = 50

/** The timer that commits records with `durable: false`, unless another commit comes first. */
export class LazyCommit {
  readonly #commit: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(commit: () => void) {
    this.#commit = commit
  }

  /** Starts the timer. It is not unref'd: a program may wait for this append and nothing else. */
  schedule(): void {
    this.#timer ??= setTimeout(this.#commit, lazyMs)
  }

  /** Stops the timer, because a commit begins now. */
  cancel(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
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
