import { dirname, join } from 'node:path'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'
import { makeIfMissing } from '../../base/fs/disk.ts'
import type { DiskQueue } from '../../base/fs/disk-queue.ts'
import type { DiskSteps } from '../../base/fs/disk-steps.ts'
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
  /** The steps that must be done before the records that a commit of this log has taken are written. */
  prepare(log: LogName): DiskSteps
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
  queue: DiskQueue
  start: AppendPoint
  /** The epoch of the hold, which each record carries. */
  epoch: number
  clock: Clock
  policy: CommitPolicy
  sizes: SegmentSizes
}

interface GatheredRecord {
  /** The body of its line, or the steps that store its data and return the body. */
  body: string | DiskSteps<string>
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
  #lines = new LineBuffer()
  readonly #lazy = new LazyCommit(() => this.commit())
  #gathering: Group[] = []
  #isScheduled = false
  #isQueued = false
  #isOpen = false
  #position: Position
  #segment: SegmentFile | undefined
  #checkpoint = ''
  #broken: unknown

  constructor(options: LogWriterOptions) {
    this.#options = options
    this.#position = options.start.from
  }

  /** Opens the segment for the next record. A writer that was not opened does it for its first record. */
  *open(): DiskSteps {
    const { files, start } = this.#options
    const { from, continues } = start
    if (files.log === 'audit' && !continues) makeIfMissing(files.disk, files.directory)
    const segment = continues ? this.#continue(from) : this.#begin(from.seq + 1)
    yield* orClose(segment, segment.keepSpare())
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

  /** Resolves when the record is on disk. With `durable: false` it may wait up to 50 ms for other records. */
  append(
    body: string | DiskSteps<string>,
    { durable = true, applied }: RecordOptions = {},
  ): Promise<Receipt> {
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
  appendAll(
    bodies: readonly (string | DiskSteps<string>)[],
    { durable = true }: RecordOptions = {},
  ): Promise<Receipt[]> {
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
  commit(): void {
    this.#lazy.cancel()
    this.#isScheduled = false
    if (this.#isQueued || this.#gathering.length === 0) return
    this.#isQueued = true
    this.#options.queue.start(this.#commitOnce())
  }

  /** Commits all records gathered so far. */
  *flush(): DiskSteps {
    while (yield* this.#commitGathered());
  }

  /** Commits, cuts the filling off and closes the segment; returns where the log ends. */
  *close(): DiskSteps<Position> {
    yield* this.flush()
    this.#broken ??= sessionClosed()
    yield* this.#closeSegment()
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
    setImmediate(() => this.commit())
  }

  /** Begins when no other operation of the session is under way. */
  *#commitOnce(): DiskSteps {
    this.#isQueued = false
    if (yield* this.#commitGathered()) this.#commitSoon()
  }

  /**
   * Commits the records gathered until now. Returns whether some must wait for another commit, because the
   * data of a record before them could not be stored: its caller hears of it before they are on disk.
   */
  *#commitGathered(): DiskSteps<boolean> {
    this.#lazy.cancel()
    const groups = this.#gathering
    this.#gathering = []
    let bug: unknown
    try {
      yield* this.#options.policy.prepare(this.#options.files.log)
    } catch (error) {
      bug = error
    }
    for (const [i, group] of groups.entries()) {
      try {
        this.assertUsable()
        if (group.storesData && !(yield* this.#storeData(group))) {
          this.#gathering = [...groups.slice(i), ...this.#gathering]
          return true
        }
        yield* this.#write(group.records)
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

  *#write(records: readonly GatheredRecord[]): DiskSteps {
    const { files, policy, sizes } = this.#options
    if (records.length === 0) return
    if (!this.#isOpen) yield* this.open()
    const checkpoint = policy.checkpoint(files.log)
    const firstSeq = this.#position.seq + 1
    const sum = this.#encode(records, firstSeq, checkpoint === this.#checkpoint ? '' : checkpoint)
    const { bytes } = this.#lines
    policy.check(bytes)
    if (this.#segment !== undefined && this.#segment.end >= sizes.segmentBytes) yield* this.#closeSegment()
    const segment = (this.#segment ??= this.#begin(firstSeq))
    yield* this.#syncName(segment)
    try {
      yield* segment.write(bytes)
      // If this process was suspended, another writer may have taken the session over. Re-check the lock
      // before acknowledging: a record in a superseded segment is never read.
      policy.assertOwned()
    } catch (error) {
      throw yield* this.#poison(segment, error)
    }
    segment.accept(bytes)
    this.#checkpoint = checkpoint
    this.#position = { seq: firstSeq + records.length - 1, sum, segment: segment.name, offset: segment.end }
  }

  /** Stores the data of large records, before the lines that name it are written. False if that failed. */
  *#storeData(group: Group): DiskSteps<boolean> {
    const failed = new Set<GatheredRecord>()
    for (const record of group.records) {
      if (typeof record.body === 'string' || failed.has(record)) continue
      try {
        record.body = yield* record.body
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
    // A thread may still read the lines of the last group, when the process ends.
    if (this.#options.queue.isEnding) this.#lines = new LineBuffer()
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
  *#syncName(segment: SegmentFile): DiskSteps {
    if (segment.isNamed) return
    const { directory, log } = this.#options.files
    if (log === 'audit') yield { call: 'syncDirectory', path: dirname(directory) }
    yield { call: 'syncDirectory', path: directory }
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

  #begin(firstSeq: number): SegmentFile {
    return (firstSeq === 1 ? this.#createFirst() : undefined) ?? this.#createLater(firstSeq)
  }

  /** Every other segment supersedes the plain name, so it is only for a log that has no segment yet. */
  #createFirst(): SegmentFile | undefined {
    const { files, sizes, start } = this.#options
    const { disk, directory, log } = files
    const name = firstSegment(log)
    if (start.isNew || effectiveSegments(log, disk.list(directory)).length === 0) {
      try {
        return new SegmentFile(disk, name, disk.create(join(directory, name)), sizes)
      } catch (error) {
        if (errorCode(error) !== 'EEXIST') throw error
      }
    }
    // The segment that is there belongs to a dead writer or to this one. If it belongs to a writer that has
    // taken the session over, a segment with this writer's epoch would supersede it.
    this.#options.policy.assertOwned()
    return undefined
  }

  #createLater(firstSeq: number): SegmentFile {
    const { files, epoch, sizes } = this.#options
    const { disk, directory, log } = files
    const name = laterSegment(log, firstSeq, epoch)
    const path = join(directory, name)
    try {
      return new SegmentFile(disk, name, disk.create(path), sizes)
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
    }
    // Left by a poisoned segment or by an opening that failed: nothing in it was acknowledged.
    const file = disk.open(path)
    try {
      disk.truncate(file, 0)
    } catch (error) {
      disk.close(file)
      throw error
    }
    return new SegmentFile(disk, name, file, sizes)
  }

  *#closeSegment(): DiskSteps {
    const segment = this.#segment
    this.#segment = undefined
    if (segment !== undefined) yield* segment.finish()
  }

  /**
   * Cuts a segment back to its last acknowledged record, so that the rejected group is absent, and returns
   * the error that rejects it. A writer that cannot cut, or has lost its lock, writes nothing more: then the
   * next holder may have read the group, or will read it.
   */
  *#poison(segment: SegmentFile, error: unknown): DiskSteps<unknown> {
    this.#segment = undefined
    if (errorCode(error) === 'FENCED') {
      segment.close()
      return (this.#broken = error)
    }
    try {
      yield* segment.truncateAndClose()
      return error
    } catch (cause) {
      const { log } = this.#options.files
      const message = `cannot cut off a rejected record of the ${log}: it may turn up when the session is resumed`
      return (this.#broken = new StintError('DISK_FAILED', message, { cause }))
    }
  }
}

/** Acts on a segment that was just opened, and closes it if that fails: no other code knows of it. */
function* orClose(segment: SegmentFile, act: DiskSteps): DiskSteps {
  try {
    yield* act
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
