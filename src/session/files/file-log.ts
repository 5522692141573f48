import { dirname, join } from 'node:path'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'
import { type Disk, makeIfMissing, writeInPieces } from '../../base/fs/disk.ts'
import type { LogGroup } from '../medium.ts'
import { effectiveSegments, firstSegment, laterSegment, type LogFiles, type Position } from './log-files.ts'

/** Where a writer goes on in a log. */
export interface AppendPoint {
  from: Position
  /** True: append to the segment that ends at `from`. False: begin a new segment. */
  continues: boolean
  /** The session was just created: its logs have no segments but those that were published with it. */
  isNew?: boolean
}

export interface FileLogOptions {
  files: LogFiles
  start: AppendPoint
  /** The epoch of the hold, which is in the names of its segments. */
  epoch: number
  sizes: SegmentSizes
  /** Throws `FENCED` if this process no longer holds the lock, or why the lock cannot be read. */
  assertOwned: () => void
}

/**
 * Adds groups of lines to the files of a log, each with one sync, and one more write where it fills ahead.
 *
 * A write or sync that fails poisons the segment: its group is rejected, the file is cut back to the last
 * acknowledged record, and the next record begins a new segment. So does a lock that cannot be read after the
 * sync. The sync of a segment is never retried: after a failed one, the kernel may have dropped its data and
 * report success. That of its name is, by the next group: a segment without a record has no data to lose.
 */
export class FileLog {
  readonly #options: FileLogOptions
  #position: Position
  #segment: SegmentFile | undefined
  #isOpen = false
  /** Why nothing more can be written. */
  #broken: unknown

  constructor(options: FileLogOptions) {
    this.#options = options
    this.#position = options.start.from
  }

  /** The position after the last acknowledged record. */
  get position(): Position {
    return this.#position
  }

  /** Opens the segment for the next record. A log that was not opened does it for its first group. */
  async open(): Promise<void> {
    const { files, start } = this.#options
    const { from, continues } = start
    if (files.log === 'audit' && !continues) await makeIfMissing(files.disk, files.directory)
    this.#segment = continues ? this.#continue(from) : await this.#begin(from.seq + 1)
    this.#isOpen = true
  }

  /** Writes and syncs lines, and re-checks the lock. */
  async append({ lines, end }: Pick<LogGroup, 'lines' | 'end'>): Promise<void> {
    const { sizes, assertOwned } = this.#options
    if (this.#broken !== undefined) throw this.#broken
    if (!this.#isOpen) await this.open()
    if (this.#segment !== undefined && this.#segment.end >= sizes.segmentBytes) await this.#closeSegment()
    const segment = (this.#segment ??= await this.#begin(this.#position.seq + 1))
    await this.#syncName(segment)
    try {
      await segment.write(lines)
      // If this process was suspended, another writer may have taken the session over. Re-check the lock
      // before acknowledging: a record in a superseded segment is never read.
      assertOwned()
    } catch (error) {
      throw await this.#poison(segment, error)
    }
    segment.accept(lines)
    this.#position = { ...end, segment: segment.name, offset: segment.end }
  }

  /** Cuts the filling off and closes the segment. */
  async close(): Promise<void> {
    await this.#closeSegment()
  }

  /** Closes the segment as it is. For a log whose session could not be opened. */
  abandon(): void {
    this.#segment?.close()
    this.#segment = undefined
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
    this.#options.assertOwned()
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

/** The sizes of a log's segment files, in bytes. */
export interface SegmentSizes {
  /** A segment that has reached this size is followed by another. */
  segmentBytes: number
  /** The least by which a file is extended beyond the bytes it needs; 0 for not at all. */
  growBytes: number
}

export const defaultSizes: SegmentSizes = { segmentBytes: 64 << 20, growBytes: 64 << 10 }

/**
 * Files are extended in steps that grow with them, filled with newlines. A write inside the file does not
 * change its size, and a sync that has no new size to write is much cheaper.
 */
const maxGrowBytes = 256 << 10
const filling = Buffer.alloc(maxGrowBytes, '\n')
/** A group of this size would use up the filling that was just made for it. */
const largeGroupBytes = 64 << 10

/** A segment that is being written. */
class SegmentFile {
  readonly name: string
  readonly #disk: Disk
  readonly #file: number
  readonly #sizes: SegmentSizes
  /** Is its name known to be on disk? No record may be written before that. */
  isNamed: boolean
  #end: number
  /** The file is filled up to here. */
  #allocated: number
  /** May the file have bytes behind its last record? */
  #isFilled: boolean
  /** Was a group written since the file was opened? */
  #hasGroup = false

  constructor(
    disk: Disk,
    name: string,
    file: number,
    sizes: SegmentSizes,
    from = { end: 0, allocated: 0, isNamed: false },
  ) {
    this.#disk = disk
    this.name = name
    this.#file = file
    this.#sizes = sizes
    this.isNamed = from.isNamed
    this.#end = from.end
    this.#allocated = from.allocated
    this.#isFilled = from.allocated > from.end
  }

  /** The end of the last acknowledged record. */
  get end(): number {
    return this.#end
  }

  /**
   * Writes and syncs bytes behind the acknowledged records. `accept` acknowledges them. The file is filled
   * ahead from the second group on: many sessions have one group, and their close has nothing to cut off.
   */
  async write(bytes: Buffer): Promise<void> {
    await writeInPieces(this.#disk, this.#file, bytes, this.#end)
    const end = this.#end + bytes.length
    if (end > this.#allocated) {
      this.#allocated = end
      if (this.#hasGroup && bytes.length < largeGroupBytes) await this.#fillAhead()
    }
    await this.#disk.sync(this.#file)
  }

  accept(bytes: Buffer): void {
    this.#end += bytes.length
    this.#hasGroup = true
  }

  /** Cuts off the filling, if the file has any, and closes the file. */
  async finish(): Promise<void> {
    if (this.#isFilled) await this.truncateAndClose()
    else this.close()
  }

  /** Cuts the file behind its last acknowledged record, syncs and closes it. */
  async truncateAndClose(): Promise<void> {
    try {
      await this.#disk.truncate(this.#file, this.#end)
      await this.#disk.sync(this.#file)
    } finally {
      this.close()
    }
  }

  /** Closes the file and leaves its contents as they are. */
  close(): void {
    this.#disk.close(this.#file)
  }

  /** Extends the file beyond the bytes that were just written. */
  async #fillAhead(): Promise<void> {
    const { growBytes } = this.#sizes
    if (growBytes === 0) return
    const from = this.#allocated
    const bytes = Math.max(growBytes, Math.min(maxGrowBytes, from))
    this.#isFilled = true
    try {
      await writeInPieces(this.#disk, this.#file, filling.subarray(0, bytes), from)
      this.#allocated = from + bytes
    } catch (error) {
      // On a full disk, or at the size limit of a file, the last records do without filling: the records
      // themselves are already written.
      if (!['ENOSPC', 'EDQUOT', 'EFBIG'].includes(errorCode(error) ?? '')) throw error
    }
  }
}
