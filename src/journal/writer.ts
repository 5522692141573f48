import { join } from 'node:path'
import type { Clock } from '../primitives/clock.ts'
import { codedError, errnoOf, StintError } from '../primitives/stint-error.ts'
import type { Disk } from './disk.ts'
import { encodeBody, encodeLine } from './record.ts'
import { segmentName, writeFully } from './segment.ts'

export interface WriterOptions {
  disk: Disk
  clock: Clock
  directory: string
  epoch: number
  /** The last record that is there. */
  lastSeq: number
  /** Where to go on, if not in a segment of its own. */
  segment?: { name: string; end: number }
  /** Throws if the lock is no longer ours; asked before each write. */
  assertOurs?: () => void
  /** A segment of this size is followed by another. */
  segmentBytes?: number
  /** Commits what has gathered; by default when the event loop comes round. */
  schedule?: (commit: () => void) => void
}

export interface Appended {
  seq: number
}

interface Pending {
  body: string
  at: number
  resolve: (appended: Appended) => void
  reject: (error: unknown) => void
}

const defaultSegmentBytes = 64 << 20
/** A file grows in steps, filled with newlines: a write within it need not change its size, which makes a sync much cheaper. */
const growthBytes = 256 << 10
/** How long a record that nobody waits for may stay in memory. */
const lazyMs = 50

/**
 * Appends records so that each is on disk when its promise resolves. Whatever gathers while one commit is under way goes into the next, with one write and one sync.
 *
 * A write or sync that fails poisons the segment: what was in it is rejected, the file is cut back to what was acknowledged, and the next record begins a new
 * one. A sync is never tried again: after a failed one, nobody knows what the disk has.
 */
export class JournalWriter {
  readonly #options: WriterOptions
  #pending: Pending[] = []
  #scheduled = false
  #lazyTimer: NodeJS.Timeout | undefined
  #lastSeq: number
  #segment: { file: number; end: number; allocated: number } | undefined
  #broken: unknown

  constructor(options: WriterOptions) {
    this.#options = options
    this.#lastSeq = options.lastSeq
    const { segment, disk, directory } = options
    if (segment === undefined) return
    const file = disk.open(join(directory, segment.name))
    this.#segment = { file, end: segment.end, allocated: disk.size(file) }
  }

  get lastSeq(): number {
    return this.#lastSeq
  }

  /** Resolves when the record is on disk. With `durable: false` it may wait for others, but no longer than a moment. */
  append(type: string, data: unknown, { durable = true } = {}): Promise<Appended> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    return new Promise((resolve, reject) => {
      const body = encodeBody(type, data)
      this.#pending.push({ body, at: this.#options.clock.now(), resolve, reject })
      if (durable) this.#commitSoon()
      else this.#lazyTimer ??= setTimeout(() => this.commit(), lazyMs).unref()
    })
  }

  /** Writes and syncs what has gathered, now. */
  commit(): void {
    clearTimeout(this.#lazyTimer)
    this.#lazyTimer = undefined
    this.#scheduled = false
    const pending = this.#pending
    if (pending.length === 0) return
    this.#pending = []
    try {
      if (this.#broken !== undefined) throw this.#broken
      this.#write(pending)
    } catch (error) {
      const coded = codedError(error, 'write to the journal')
      for (const { reject } of pending) reject(coded)
      return
    }
    const first = this.#lastSeq
    this.#lastSeq += pending.length
    pending.forEach(({ resolve }, i) => resolve({ seq: first + 1 + i }))
  }

  /** Commits, cuts the filling off and closes; returns where the journal ends. */
  close(): { seq: number; end: number } {
    this.commit()
    const segment = this.#segment
    this.#broken ??= new StintError(
      'SESSION_CLOSED',
      'the session is closed: nothing more can be written to it',
    )
    this.#segment = undefined
    if (segment === undefined) return { seq: this.#lastSeq, end: 0 }
    this.#seal(segment)
    return { seq: this.#lastSeq, end: segment.end }
  }

  #commitSoon(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    const { schedule = setImmediate } = this.#options
    schedule(() => this.commit())
  }

  #write(pending: readonly Pending[]): void {
    const { disk, epoch, assertOurs, segmentBytes = defaultSegmentBytes } = this.#options
    const group = this.#lastSeq + 1
    const lines = pending.map(({ body, at }, i) => encodeLine({ seq: group + i, group, epoch }, at, body))
    const bytes = Buffer.from(lines.join(''))
    assertOurs?.()
    if (this.#segment !== undefined && this.#segment.end >= segmentBytes) this.#sealCurrent()
    const segment = (this.#segment ??= this.#begin(group))
    try {
      this.#reserve(segment, bytes.length)
      writeFully(disk, segment.file, bytes, segment.end)
      disk.sync(segment.file)
      segment.end += bytes.length
    } catch (error) {
      this.#poison(segment)
      throw error
    }
  }

  #begin(firstSeq: number): { file: number; end: number; allocated: number } {
    const { disk, directory, epoch } = this.#options
    const path = join(directory, segmentName(firstSeq, epoch))
    let file: number
    try {
      file = disk.create(path)
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error
      // Our own, from before it was poisoned: nothing in it was acknowledged.
      file = disk.open(path)
      disk.truncate(file, 0)
    }
    disk.syncDirectory(directory)
    return { file, end: 0, allocated: 0 }
  }

  /** Room for these bytes and some more. On a full disk the last bytes do without. */
  #reserve(segment: { file: number; end: number; allocated: number }, length: number): void {
    const { disk } = this.#options
    const needed = segment.end + length
    if (needed <= segment.allocated) return
    const filling = Buffer.alloc(needed - segment.allocated + growthBytes, '\n')
    writeFully(disk, segment.file, filling, segment.allocated)
    segment.allocated += filling.length
  }

  #sealCurrent(): void {
    const segment = this.#segment
    this.#segment = undefined
    if (segment !== undefined) this.#seal(segment)
  }

  #seal({ file, end }: { file: number; end: number }): void {
    const { disk } = this.#options
    try {
      disk.truncate(file, end)
      disk.sync(file)
    } finally {
      disk.close(file)
    }
  }

  /** Cuts it back to what was acknowledged; if even that fails, nothing can be written any more. */
  #poison(segment: { file: number; end: number; allocated: number }): void {
    this.#segment = undefined
    try {
      this.#seal(segment)
    } catch (error) {
      this.#broken = codedError(error, 'cut the journal back to what is safe')
    }
  }
}
