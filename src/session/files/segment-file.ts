import { errorCode } from '../../base/errors/stint-error.ts'
import { type Disk, writeInPieces } from '../../base/fs/disk.ts'

/** The sizes of a log's segment files, in bytes. */
export interface SegmentSizes {
  /** A segment that has reached this size is followed by another. */
  segmentBytes: number
  /** The least by which a file is extended beyond the bytes it needs; 0 for not at all. */
  growBytes: number
  /** Space that a file keeps allocated behind its last record, for the moment when the disk is full. */
  spareBytes: number
}

export const defaultSegmentSizes: SegmentSizes = {
  segmentBytes: 64 << 20,
  growBytes: 64 << 10,
  spareBytes: 0,
}

/**
 * Files are extended in steps that grow with them, filled with newlines. A write inside the file does not
 * change its size, and a sync that has no new size to write is much cheaper.
 */
const maxGrowBytes = 256 << 10
const filling = Buffer.alloc(maxGrowBytes, '\n')
/** A group of this size would use up the filling that was just made for it. */
const largeGroupBytes = 64 << 10

/** A segment that is being written. */
export class SegmentFile {
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
    const isFilledAhead = this.#hasGroup && bytes.length < largeGroupBytes
    await this.#fill(this.#end + bytes.length, isFilledAhead ? this.#sizes.growBytes : 0)
    await this.#disk.sync(this.#file)
  }

  accept(bytes: Buffer): void {
    this.#end += bytes.length
    this.#hasGroup = true
  }

  /** Allocates the spare space now: on a full disk it would be too late. */
  async keepSpare(): Promise<void> {
    await this.#fill(this.#end, 0)
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

  /** Extends the file by at least `growBytes` and the spare, if less than the spare is left behind `end`. */
  async #fill(end: number, growBytes: number): Promise<void> {
    const { spareBytes } = this.#sizes
    if (end + spareBytes <= this.#allocated) return
    const from = Math.max(end, this.#allocated)
    const wanted = growBytes === 0 ? 0 : Math.max(growBytes, Math.min(maxGrowBytes, end))
    const more = Math.min(wanted + spareBytes, filling.length)
    this.#allocated = from
    if (more === 0) return
    this.#isFilled = true
    try {
      await writeInPieces(this.#disk, this.#file, filling.subarray(0, more), from)
      this.#allocated = from + more
    } catch (error) {
      // On a full disk, or at the size limit of a file, the last records do without filling: the records
      // themselves are already written.
      if (!['ENOSPC', 'EDQUOT', 'EFBIG'].includes(errorCode(error) ?? '')) throw error
    }
  }
}
