import { join } from 'node:path'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'
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
  /** Throws if these bytes must not be written. */
  check(bytes: Buffer): void
  /** Throws `FENCED` if this process no longer holds the lock, or why the lock cannot be read. */
  assertOwned(): void
  /** Turns the error of a failed system call into a coded one. `doing` completes "cannot …". */
  explain(error: unknown, doing: string): unknown
}

export interface LogWriterOptions {
  files: LogFiles
  start: AppendPoint
  /** The epoch of the hold, which each record carries. */
  epoch: number
  clock: Clock
  policy: CommitPolicy
  sizes: SegmentSizes
}

interface GatheredRecord {
  body: string
  /** Its `seq` is 0 until the record is encoded, with its group. */
  receipt: Receipt
  applied: RecordOptions['applied']
}

/** Records that are written and synced together. They settle together, through one promise. */
class Group {
  readonly records: GatheredRecord[] = []
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

/**
 * Appends records so that each is on disk when its promise resolves. The records that gather during a turn of
 * the event loop are one group, with one write and one sync.
 *
 * A write or sync that fails poisons the segment: its group is rejected, the file is cut back to the last
 * acknowledged record, and the next record begins a new segment. So does a lock that cannot be read after the
 * sync. A sync is never retried: after a failed one, the kernel may have dropped the data and report success.
 */
export class LogWriter {
  readonly #options: LogWriterOptions
  readonly #lines = new LineBuffer()
  readonly #lazy = new LazyCommit(() => this.commit())
  #gathering: Group | undefined
  #scheduled = false
  #position: Position
  #segment: SegmentFile | undefined
  #checkpoint = ''
  #broken: unknown

  constructor(options: LogWriterOptions) {
    const { from, continues } = options.start
    this.#options = options
    this.#position = from
    const segment = continues ? this.#continue(from) : this.#begin(from.seq + 1)
    orClose(segment, () => segment.keepSpare())
    this.#segment = segment
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
  append(body: string, { durable = true, applied }: RecordOptions = {}): Promise<Receipt> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    // Before a group is made: the clock may be a program's own, and throw.
    const receipt = { seq: 0, at: this.#options.clock.now() }
    const group = (this.#gathering ??= new Group())
    group.records.push({ body, receipt, applied })
    if (durable) this.#commitSoon()
    else this.#lazy.schedule()
    return group.written.then(() => receipt)
  }

  /** Writes and syncs the gathered records now. */
  commit(): void {
    this.#lazy.cancel()
    this.#scheduled = false
    const group = this.#gathering
    if (group === undefined) return
    this.#gathering = undefined
    try {
      this.assertUsable()
      this.#write(group.records)
    } catch (error) {
      group.reject(this.#options.policy.explain(error, `write to the ${this.#options.files.log}`))
      return
    }
    // The records are on disk, so their appends resolve even if a callback has a bug and throws.
    try {
      for (const { receipt, applied } of group.records) applied?.(receipt)
    } finally {
      group.resolve()
    }
  }

  /** Commits, cuts the filling off and closes the segment; returns where the log ends. */
  close(): Position {
    this.commit()
    this.#broken ??= sessionClosed()
    this.#closeSegment()
    return this.#position
  }

  /** Closes the segment as it is. For a writer whose session could not be opened. */
  abandon(): void {
    this.#segment?.close()
    this.#segment = undefined
  }

  #commitSoon(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.commit())
  }

  #write(records: readonly GatheredRecord[]): void {
    const { files, policy, sizes } = this.#options
    const checkpoint = policy.checkpoint(files.log)
    const firstSeq = this.#position.seq + 1
    const sum = this.#encode(records, firstSeq, checkpoint === this.#checkpoint ? '' : checkpoint)
    const { bytes } = this.#lines
    policy.check(bytes)
    if (this.#segment !== undefined && this.#segment.end >= sizes.segmentBytes) this.#closeSegment()
    const segment = (this.#segment ??= this.#begin(firstSeq))
    try {
      segment.write(bytes)
      // If this process was suspended, another writer may have taken the session over. Re-check the lock
      // before acknowledging: a record in a superseded segment is never read.
      policy.assertOwned()
    } catch (error) {
      throw this.#poison(segment, error)
    }
    segment.accept(bytes)
    this.#checkpoint = checkpoint
    this.#position = { seq: firstSeq + records.length - 1, sum, segment: segment.name, offset: segment.end }
  }

  /** Numbers the records, encodes their lines, and returns the sum of the last. */
  #encode(records: readonly GatheredRecord[], firstSeq: number, checkpoint: string): string {
    const { files, epoch } = this.#options
    const { codec } = files
    const lines = this.#lines
    lines.clear()
    let { sum } = this.#position
    records.forEach(({ body, receipt }, i) => {
      receipt.seq = firstSeq + i
      const { seq, at } = receipt
      lines.add(codec.text({ seq, at, group: firstSeq, epoch }, i === 0 ? body + checkpoint : body, sum))
      // In a log without a chain, only the sum of the last line is needed.
      if (codec.follows !== undefined) sum = codec.sumOf(lines.last)
    })
    return codec.sumOf(lines.last)
  }

  #continue({ segment: name, offset: end }: Position): SegmentFile {
    const { files, sizes } = this.#options
    const { disk, directory } = files
    const file = disk.open(join(directory, name))
    return new SegmentFile(disk, name, file, sizes, { end, allocated: disk.size(file) })
  }

  #begin(firstSeq: number): SegmentFile {
    const { disk, directory } = this.#options.files
    const segment = (firstSeq === 1 ? this.#createFirst() : undefined) ?? this.#createLater(firstSeq)
    orClose(segment, () => disk.syncDirectory(directory))
    return segment
  }

  /** Every other segment supersedes the plain name, so it is only for a log that has no segment yet. */
  #createFirst(): SegmentFile | undefined {
    const { files, sizes } = this.#options
    const { disk, directory, log } = files
    const name = firstSegment(log)
    if (effectiveSegments(log, disk.list(directory)).length === 0) {
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
    const segment = new SegmentFile(disk, name, file, sizes)
    orClose(segment, () => disk.truncate(file, 0))
    return segment
  }

  #closeSegment(): void {
    const segment = this.#segment
    this.#segment = undefined
    segment?.truncateAndClose()
  }

  /**
   * Cuts a segment back to its last acknowledged record, so that the rejected group is absent, and returns
   * the error that rejects it. A writer that cannot cut, or has lost its lock, writes nothing more: then the
   * next holder may have read the group, or will read it.
   */
  #poison(segment: SegmentFile, error: unknown): unknown {
    this.#segment = undefined
    if (errorCode(error) === 'FENCED') {
      segment.close()
      return (this.#broken = error)
    }
    try {
      segment.truncateAndClose()
      return error
    } catch (cause) {
      const { log } = this.#options.files
      const message = `cannot cut off a rejected record of the ${log}: it may turn up when the session is resumed`
      return (this.#broken = new StintError('DISK_FAILED', message, { cause }))
    }
  }
}

/** Acts on a segment that was just opened, and closes it if that fails: no other code knows of it. */
function orClose(segment: SegmentFile, act: () => void): void {
  try {
    act()
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
