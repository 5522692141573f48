import { type Dirent, lstatSync, opendirSync, readdirSync, type Stats } from 'node:fs'
import { errorCode } from '../errors/stint-error.ts'
import { runToEnd, stepEnds } from '../process/event-loop.ts'
import { openDirectory } from './open-directory.ts'
import { bytePath, latin1Of } from './paths.ts'

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
    const names = (this.#names.get(file) ?? 0) + 1
    this.#names.set(file, names)
    return names === (this.#counts === 'first' ? 1 : nlink)
  }
}

/**
 * The contents of a tree, its top directory included. `bytes` is the length of the files; `disk_bytes` has
 * the directories, too.
 */
export interface TreeSize extends DiskSpace {
  /** Everything that is not a directory. */
  files: number
  directories: number
}

interface MeasuredTree extends TreeSize {
  /** Directories that cannot be listed and files that cannot be examined; the sums are without them. */
  unreadable: number
}

export interface MeasureOptions {
  /** A path to leave out. */
  skip?: string
  /** Measures the files; shared by trees that may contain the same files. */
  counter?: SpaceCounter
  /** Called every few hundred entries with the sums so far; true ends the walk. */
  enough?: (sofar: MeasuredTree) => boolean
}

/** Measures a tree or a single file; unreadable entries count as 0. */
export function measureTree(path: string, counter?: SpaceCounter): DiskSpace {
  const { bytes, disk_bytes } = runToEnd(measureSteps(path, { counter }))
  return { bytes, disk_bytes }
}

/** Below a longer path, paths start from the directory's descriptor, so that none grows too long. */
const longPath = 2048

/**
 * Measures a tree or a single file; yields after every few hundred entries. An entry that has disappeared
 * meanwhile counts as 0, one that cannot be read as unreadable.
 */
export function* measureSteps(
  path: string,
  { skip, counter = new SpaceCounter(), enough }: MeasureOptions = {},
): Generator<void, MeasuredTree> {
  const size: MeasuredTree = { files: 0, directories: 0, bytes: 0, disk_bytes: 0, unreadable: 0 }
  const isStepOver = stepEnds()
  let isEnough = false
  // Latin-1 paths have a character for each byte: names need not be UTF-8.
  const skipped = skip === undefined ? undefined : latin1Of(skip)
  function* walk(pending: string[]): Generator<void> {
    for (let at = pending.pop(); at !== undefined && !isEnough; at = pending.pop()) {
      if (at === skipped) continue
      try {
        const stat = lstatSync(bytePath(at), { throwIfNoEntry: false })
        if (stat?.isDirectory()) {
          size.directories += 1
          size.disk_bytes += diskBytesOf(stat)
          const entries = yield* listSteps(bytePath(at), stat.size)
          if (at.length > longPath) {
            using directory = openDirectory(bytePath(at), { asIs: true })
            yield* walk(entries.map(({ name }) => `${directory.base}/${name}`))
          } else for (const { name } of entries) pending.push(`${at}/${name}`)
        } else if (stat !== undefined) {
          const space = counter.spaceOf(stat)
          size.files += 1
          size.bytes += space?.bytes ?? 0
          size.disk_bytes += space?.disk_bytes ?? 0
        }
      } catch (error) {
        if (!['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) size.unreadable += 1
      }
      if (!isStepOver()) continue
      isEnough = enough?.(size) ?? false
      yield
    }
  }
  yield* walk([latin1Of(path)])
  return size
}

/** A larger directory may have thousands of entries, which would block the event loop if read at once. */
const largeDirectory = 256 << 10
const entriesPerStep = 1024

/**
 * Lists a directory, with names as Latin-1; `size` is that of the directory itself, in bytes. Yields while
 * it reads a large one.
 */
export function* listSteps(path: string | Buffer, size: number): Generator<void, Dirent[]> {
  if (size < largeDirectory) return readdirSync(path, { withFileTypes: true, encoding: 'latin1' })
  const directory = opendirSync(path as string, { encoding: 'latin1', bufferSize: entriesPerStep })
  try {
    const entries: Dirent[] = []
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      entries.push(entry)
      if (entries.length % entriesPerStep === 0) yield
    }
    return entries
  } finally {
    directory.closeSync()
  }
}
