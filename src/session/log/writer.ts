import { join } from 'node:path'
import type { Clock } from '../../base/process/clock.ts'
import type { Disk } from '../../base/fs/disk.ts'
import { codedError, errorCode } from '../../base/errors/stint-error.ts'
import type { Codec } from './codec.ts'
import { LazyCommit } from './lazy-commit.ts'
import { LineBuffer } from './line-buffer.ts'
import type { Position } from './position.ts'
import { firstSegment, effectiveSegments, laterSegment, type LogName } from './segment.ts'
import { type Room, SegmentFile } from './segment-file.ts'
import { sessionClosed } from './session-closed.ts'

export interface WriterOptions extends Room {
  disk: Disk
  clock: Clock
  directory: string
  log: LogName
  codec: Codec
  epoch: number
  /** After the last record that is there. */
  after: Position
  /** Go on in the segment of that position, which ends there; only if nobody else can still be writing to it. Otherwise a new one is begun. */
  continues?: boolean
  /** Throws if the lock is no longer ours; asked before a write is acknowledged. */
  assertOurs?: () => void
  /** More fields for the first record of a group, if they have changed since the last: `,"name":value`. */
  stamp?: () => string
  /** Throws if these bytes must not be written. */
  inspect?: (bytes: Buffer) => void
  /** A segment of this size is followed by another. */
  segmentBytes?: number
  /** Commits what has gathered; by default when the event loop comes round. */
  schedule?: (commit: () => void) => void
}

export interface Appended {
  seq: number
  at: number
}

export interface AppendOptions {
  /** False: it may wait for others, but no longer than a moment. */
  durable?: boolean
  /** Called when the record counts, before anything else can happen. */
  applied?: (appended: Appended) => void
}

interface Pending {
  body: string
  appended: Appended
  applied: AppendOptions['applied']
}

/** Records that go to the disk together. They share a promise: one each would cost more than its line. */
class Group {
  readonly records: Pending[] = []
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

const defaultSegmentBytes = 64 << 20

/**
 * Appends records so that each is on disk when its promise resolves. Whatever gathers while one commit is under way goes into the next, with one write and one sync.
 *
 * A write or sync that fails poisons the segment: what was in it is rejected, the file is cut back to what was acknowledged, and the next record begins a new
 * one. A sync is never tried again: after a failed one, nobody knows what the disk has.
 */
export class LogWriter {
  readonly #options: WriterOptions
  readonly #lines = new LineBuffer()
  readonly #lazy = new LazyCommit(() => this.commit())
  #gathering: Group | undefined
  #scheduled = false
  #position: Position
  #segment: SegmentFile | undefined
  #stamped = ''
  #broken: unknown

  constructor(options: WriterOptions) {
    this.#options = options
    this.#position = options.after
    const { continues, after, spareBytes } = options
    const segment = continues ? this.#continue(after) : this.#begin(after.seq + 1)
    if (spareBytes !== undefined) orClose(segment, () => segment.keepSpare())
    this.#segment = segment
  }

  /** After the last record that was acknowledged. */
  get position(): Position {
    return this.#position
  }

  /** Resolves when the record is on disk. With `durable: false` it may wait for others, but no longer than a moment. */
  append(body: string, { durable = true, applied }: AppendOptions = {}): Promise<Appended> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    const group = (this.#gathering ??= new Group())
    const appended = { seq: 0, at: this.#options.clock.now() }
    group.records.push({ body, appended, applied })
    if (durable) this.#commitSoon()
    else this.#lazy.schedule()
    return group.written.then(() => appended)
  }

  /** Writes and syncs what has gathered, now. */
  commit(): void {
    this.#lazy.cancel()
    this.#scheduled = false
    const group = this.#gathering
    if (group === undefined) return
    this.#gathering = undefined
    try {
      if (this.#broken !== undefined) throw this.#broken
      this.#write(group.records)
    } catch (error) {
      group.reject(codedError(error, `write to the ${this.#options.log}`))
      return
    }
    for (const { appended, applied } of group.records) applied?.(appended)
    group.resolve()
  }

  /** Commits, cuts the filling off and closes; returns where the log ends. */
  close(): Position {
    this.commit()
    this.#broken ??= sessionClosed()
    this.#sealCurrent()
    return this.#position
  }

  /** Gives up a log to which nothing was written: nobody will close it. */
  abandon(): void {
    this.#segment?.close()
    this.#segment = undefined
  }

  #commitSoon(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    const { schedule = setImmediate } = this.#options
    schedule(() => this.commit())
  }

  #write(records: readonly Pending[]): void {
    const { inspect, stamp, segmentBytes = defaultSegmentBytes } = this.#options
    const stamped = stamp?.() ?? ''
    const group = this.#position.seq + 1
    const tail = this.#encode(records, group, stamped === this.#stamped ? '' : stamped)
    const { bytes } = this.#lines
    inspect?.(bytes)
    if (this.#segment !== undefined && this.#segment.end >= segmentBytes) this.#sealCurrent()
    const segment = (this.#segment ??= this.#begin(group))
    try {
      segment.write(bytes)
    } catch (error) {
      this.#poison(segment)
      throw error
    }
    // Who was stopped may have been robbed meanwhile: what nobody will read must not be acknowledged. Written it may be: it is in a file that no
    // longer counts.
    this.#assertOurs()
    segment.accept(bytes)
    this.#stamped = stamped
    this.#position = { seq: group + records.length - 1, tail, segment: segment.name, offset: segment.end }
  }

  /** Numbers the records, makes their lines, and returns the tail of the last. */
  #encode(records: readonly Pending[], group: number, stamp: string): string {
    const { codec, epoch } = this.#options
    const lines = this.#lines
    lines.clear()
    let { tail } = this.#position
    records.forEach(({ body, appended }, i) => {
      appended.seq = group + i
      const { seq, at } = appended
      lines.add(codec.text({ seq, at, group, epoch }, i === 0 ? body + stamp : body, tail))
      // Where lines need not follow each other, only the last one's is asked for.
      if (codec.follows !== undefined) tail = codec.tailOf(lines.last)
    })
    return codec.tailOf(lines.last)
  }

  /** Once it is somebody else's, the file is left as it is: they may have read, and accepted, what we wrote last. */
  #assertOurs(): void {
    try {
      this.#options.assertOurs?.()
    } catch (error) {
      this.#broken = error
      this.abandon()
      throw error
    }
  }

  #continue({ segment: name, offset: end }: Position): SegmentFile {
    const { disk, directory } = this.#options
    const file = disk.open(join(directory, name))
    return new SegmentFile(disk, name, file, this.#options, { end, allocated: disk.size(file) })
  }

  #begin(firstSeq: number): SegmentFile {
    const { disk, directory } = this.#options
    const segment = (firstSeq === 1 ? this.#createFirst() : undefined) ?? this.#createLater(firstSeq)
    orClose(segment, () => disk.syncDirectory(directory))
    return segment
  }

  /** The plain name stands behind all others, so it is only for a log that has none. */
  #createFirst(): SegmentFile | undefined {
    const { disk, directory, log } = this.#options
    const name = firstSegment(log)
    if (effectiveSegments(log, disk.list(directory)).length === 0) {
      try {
        return new SegmentFile(disk, name, disk.create(join(directory, name)), this.#options)
      } catch (error) {
        if (errorCode(error) !== 'EEXIST') throw error
      }
    }
    // What is there is a dead writer's, or ours. Or of one who has taken the session from us: a segment with our epoch would take its place.
    this.#assertOurs()
    return undefined
  }

  #createLater(firstSeq: number): SegmentFile {
    const { disk, directory, log, epoch } = this.#options
    const name = laterSegment(log, firstSeq, epoch)
    const path = join(directory, name)
    try {
      return new SegmentFile(disk, name, disk.create(path), this.#options)
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
    }
    // From before it was poisoned, or from a try to open that failed: nothing in it was acknowledged.
    const file = disk.open(path)
    const segment = new SegmentFile(disk, name, file, this.#options)
    orClose(segment, () => disk.truncate(file, 0))
    return segment
  }

  #sealCurrent(): void {
    const segment = this.#segment
    this.#segment = undefined
    segment?.seal()
  }

  /** Cuts it back to what was acknowledged; if even that fails, nothing can be written any more. */
  #poison(segment: SegmentFile): void {
    this.#segment = undefined
    try {
      segment.seal()
    } catch (error) {
      this.#broken = codedError(error, `cut the ${this.#options.log} back to what is safe`)
    }
  }
}

/** Does something with a segment that was just opened. If that fails, nobody else knows that it is open. */
function orClose(segment: SegmentFile, act: () => void): void {
  try {
    act()
  } catch (error) {
    segment.close()
    throw error
  }
}
