import { lstatSync, renameSync, rmdirSync, unlinkSync } from 'node:fs'
import { diskBytesOf, type DiskSpace, listSteps } from './measure-tree.ts'
import { bytePath, latin1Of, utf8Of } from './paths.ts'
import { type OpenDirectory, openDirectory } from './open-directory.ts'
import { isRealDirectory } from './exists.ts'
import { runToEnd, stepEnds } from '../process/event-loop.ts'
import { errorCode } from '../errors/stint-error.ts'

export interface RemovalFailure {
  path: string
  type: 'file' | 'directory'
  /** The errno name, such as `EPERM`. */
  error: string
}

export interface Removal extends DiskSpace {
  /** Entries removed, directories included; entries that had already disappeared are not counted. */
  removed: number
  failures: RemovalFailure[]
  /** False if the limit was reached before the tree was gone. */
  complete: boolean
}

export interface RemovalOptions {
  /** The name of the top in failures, if not its path. */
  shownAs?: string
  /** The inode of the top: if another entry has taken its name, that entry stays. */
  inode?: number
  /** Count bytes, a file with its last name; costs one system call more a file. 0 without it. */
  measure?: boolean
  /** Stop after this many entries and leave the rest for a later sweep. */
  limit?: number
}

export const nothingRemoved = (): Removal => ({
  removed: 0,
  bytes: 0,
  disk_bytes: 0,
  failures: [],
  complete: true,
})

export const totalRemoval = (removals: readonly Removal[]): Removal => ({
  removed: removals.reduce((sum, { removed }) => sum + removed, 0),
  bytes: removals.reduce((sum, { bytes }) => sum + bytes, 0),
  disk_bytes: removals.reduce((sum, { disk_bytes }) => sum + disk_bytes, 0),
  failures: removals.flatMap(({ failures }) => failures),
  complete: removals.every(({ complete }) => complete),
})

/** Removes a tree, or a single entry, without following a symlink or leaving its file system. */
export const removeTree = (path: string, options: RemovalOptions = {}): Removal =>
  runToEnd(removalSteps(path, options))

/** Each level holds a descriptor open; a deeper directory is first moved up to the top. */
const maxDepth = 64
/** How often to empty a directory that another process keeps filling. */
const maxPasses = 4

/** Removes like `removeTree`; yields after every few hundred entries. */
export function* removalSteps(path: string, options: RemovalOptions): Generator<void, Removal> {
  const remover = new TreeRemover(options)
  yield* remover.remove(path, options.shownAs ?? path)
  return remover.removal
}

/** An entry to remove: its path, its name in failures, its depth below the top, and its parent directory. */
interface Entry {
  path: Path
  shown: string
  depth: number
  parent?: OpenDirectory
}

class TreeRemover {
  readonly removal = nothingRemoved()
  readonly #options: RemovalOptions
  readonly #isStepOver = stepEnds()
  #top: OpenDirectory | undefined
  #hoisted = 0

  constructor(options: RemovalOptions) {
    this.#options = options
  }

  *remove(path: Path, shown: string): Generator<void> {
    const entry = { path, shown, depth: 0 }
    if (isRealDirectory(path) || this.#unlinkUnlessDirectory(entry)) yield* this.#removeDirectory(entry)
  }

  *#removeDirectory(entry: Entry): Generator<void> {
    let directory: OpenDirectory | undefined
    try {
      directory = openDirectory(entry.path)
      this.#assertExpected(directory)
      this.#top ??= directory
      if (entry.depth > maxDepth) this.#hoist(entry, directory)
      else yield* this.#emptyAndRemove(entry, directory)
    } catch (error) {
      this.#fail(entry, 'directory', error)
    } finally {
      // Not `using`: Node 20 has no Symbol.dispose in a vm context, such as Vitest's pool vmThreads.
      directory?.[Symbol.dispose]()
    }
  }

  #assertExpected({ ino, dev }: OpenDirectory): void {
    const { inode } = this.#options
    if (this.#top === undefined && inode !== undefined && ino !== inode)
      throw new Error('something else is in its place')
    if (this.#top !== undefined && dev !== this.#top.dev)
      throw new Error('another file system is mounted here')
  }

  /** Moves a deep directory up to the top, which is then emptied once more. */
  #hoist({ path, parent }: Entry, directory: OpenDirectory): void {
    directory.makeWritable()
    withPermission(parent, () => renameSync(path, `${this.#top?.base}/.hoisted-${this.#hoisted}`))
    this.#hoisted += 1
  }

  *#emptyAndRemove(entry: Entry, directory: OpenDirectory): Generator<void> {
    for (let pass = 0; pass < maxPasses; pass++) {
      const failuresBefore = this.removal.failures.length
      const hoistedBefore = this.#hoisted
      yield* this.#empty(directory, entry)
      if (!this.removal.complete) return
      const isRefilled = this.#hoisted > hoistedBefore && entry.depth === 0
      if (isRefilled) pass = 0
      else if (this.removal.failures.length > failuresBefore) return
      else if (this.#removeEmpty(directory, entry, pass === maxPasses - 1)) return
    }
  }

  *#empty(directory: OpenDirectory, { shown, depth }: Entry): Generator<void> {
    const { limit = Number.POSITIVE_INFINITY } = this.#options
    const base = latin1Of(directory.base)
    for (const dirent of yield* listSteps(directory.base, directory.size)) {
      if (this.removal.removed >= limit) {
        this.removal.complete = false
        return
      }
      const entry: Entry = {
        path: bytePath(`${base}/${dirent.name}`),
        shown: `${shown}/${utf8Of(dirent.name)}`,
        depth: depth + 1,
        parent: directory,
      }
      if (dirent.isDirectory() || this.#unlinkUnlessDirectory(entry)) {
        yield* this.#removeDirectory(entry)
        if (!this.removal.complete) return
      }
      if (this.#isStepOver()) yield
    }
  }

  /** True if it is a directory: the file system reports no types, or the entry was swapped meanwhile. */
  #unlinkUnlessDirectory(entry: Entry): boolean {
    const { path, parent } = entry
    try {
      const stat = this.#options.measure ? lstatSync(path) : undefined
      withPermission(parent, () => unlinkSync(path))
      // A file that has another name elsewhere stays on the disk.
      if (stat?.nlink === 1) {
        this.removal.bytes += stat.size
        this.removal.disk_bytes += diskBytesOf(stat)
      }
      this.removal.removed += 1
    } catch (error) {
      if (isRealDirectory(path)) return true
      this.#fail(entry, 'file', error)
    }
    return false
  }

  /** False if another process has put an entry there, and the directory should be emptied again. */
  #removeEmpty(directory: OpenDirectory, entry: Entry, isLastPass: boolean): boolean {
    try {
      withPermission(entry.parent, () => rmdirSync(entry.path))
      this.removal.removed += 1
      if (this.#options.measure) this.removal.disk_bytes += diskBytesOf(directory)
    } catch (error) {
      if (errorCode(error) === 'ENOTEMPTY' && !isLastPass) return false
      this.#fail(entry, 'directory', error)
    }
    return true
  }

  #fail({ shown }: Entry, type: RemovalFailure['type'], error: unknown): void {
    const errno = errorCode(error)
    if (errno !== 'ENOENT') this.removal.failures.push({ path: shown, type, error: errno ?? String(error) })
  }
}

type Path = string | Buffer

/** Retries once with write permission, if this user owns the parent directory and lacks it. */
function withPermission(parent: OpenDirectory | undefined, act: () => void): void {
  try {
    act()
  } catch (error) {
    if (errorCode(error) !== 'EACCES' || !parent?.makeWritable()) throw error
    act()
  }
}
