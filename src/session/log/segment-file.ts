import { type Disk, writeFully } from '../../base/fs/disk.ts'
import { errorCode } from '../../base/errors/stint-error.ts'

/** How much room a segment makes for what comes. */
export interface Room {
  /** Kept for the moment when the disk is full. */
  spareBytes?: number
  /** By how much the file grows at least, beyond what is needed. */
  growBytes?: number
}

/**
 * A file grows in steps, filled with newlines: a write within it need not change its size, which makes a sync much cheaper. Small ones grow less.
 */
const growth = { least: 64 << 10, most: 256 << 10 }
const filling = Buffer.alloc(growth.most, '\n')

/** A segment that is being written. */
export class SegmentFile {
  readonly name: string
  readonly #disk: Disk
  readonly #file: number
  readonly #room: Room
  #end: number
  /** Up to here, the file has been filled. */
  #allocated: number

  constructor(disk: Disk, name: string, file: number, room: Room, from = { end: 0, allocated: 0 }) {
    this.#disk = disk
    this.name = name
    this.#file = file
    this.#room = room
    this.#end = from.end
    this.#allocated = from.allocated
  }

  /** Up to here, all is acknowledged. */
  get end(): number {
    return this.#end
  }

  /** On return these bytes are on the disk, behind what is acknowledged. They count once they are accepted. */
  write(bytes: Buffer): void {
    writeFully(this.#disk, this.#file, bytes, this.#end)
    // A large group would use up at once what is filled for it.
    this.#fill(this.#end + bytes.length, bytes.length < growth.least ? undefined : 0)
    this.#disk.sync(this.#file)
  }

  accept(bytes: Buffer): void {
    this.#end += bytes.length
  }

  /** Makes the spare room now: when it is needed, there is none. */
  keepSpare(): void {
    this.#fill(this.#end, 0)
  }

  /** Cuts off what is not acknowledged, and closes the file. */
  seal(): void {
    try {
      this.#disk.truncate(this.#file, this.#end)
      this.#disk.sync(this.#file)
    } finally {
      this.close()
    }
  }

  /** Leaves the file as it is. */
  close(): void {
    this.#disk.close(this.#file)
  }

  /** Makes room after `end`, if there is too little. */
  #fill(end: number, least = this.#room.growBytes ?? growth.least): void {
    const { spareBytes = 0 } = this.#room
    if (end + spareBytes <= this.#allocated) return
    const from = Math.max(end, this.#allocated)
    const growBytes = least === 0 ? 0 : Math.max(least, Math.min(growth.most, end))
    const more = Math.min(growBytes + spareBytes, filling.length)
    this.#allocated = from
    if (growBytes + spareBytes === 0) return
    try {
      writeFully(this.#disk, this.#file, filling.subarray(0, more), from)
      this.#allocated = from + more
    } catch (error) {
      // The record itself is written: on a full disk the last ones do without.
      if (!['ENOSPC', 'EDQUOT'].includes(errorCode(error) ?? '')) throw error
    }
  }
}
