import type { Stats } from 'node:fs'

/** The length of files, and what the disk has lost to them; both in bytes. */
export interface DiskSpace {
  /** The sum of the lengths, as `ls` shows them. */
  bytes: number
  /** The sum of the allocated blocks, as `du` shows it: more for small files, less for sparse ones. */
  disk_bytes: number
}

type FileSpace = Pick<Stats, 'size' | 'blocks' | 'nlink' | 'dev' | 'ino'>

/** `st_blocks` counts in this unit, whatever the block size of the file system. */
const blockBytes = 512

/** The disk space that a file or a directory takes, in bytes. */
export const diskBytesOf = ({ blocks }: Pick<Stats, 'blocks'>): number => blocks * blockBytes

/**
 * Measures files, and counts a file with several names once: `first` with the name that is seen first, for
 * what there is; `last` when all its names have been seen, for what removing them would free.
 */
export class SpaceCounter {
  readonly #counts: 'first' | 'last'
  readonly #names = new Map<string, number>()

  constructor(counts: 'first' | 'last' = 'first') {
    this.#counts = counts
  }

  /** The space of a file; undefined if it counts with another of its names. */
  spaceOf(stat: FileSpace): DiskSpace | undefined {
    return this.#isCounted(stat) ? { bytes: stat.size, disk_bytes: diskBytesOf(stat) } : undefined
  }

  #isCounted({ nlink, dev, ino }: FileSpace): boolean {
    if (nlink <= 1) return true
    const file = `${dev}:${ino}`
    const seen = (this.#names.get(file) ?? 0) + 1
    this.#names.set(file, seen)
    return seen === (this.#counts === 'first' ? 1 : nlink)
  }
}
