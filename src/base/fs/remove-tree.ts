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
  const removal = nothingRemoved()
  const limit = options.limit ?? Number.POSITIVE_INFINITY
  let hoisted = 0
  let top: OpenDirectory | undefined
  const isStepOver = stepEnds()

  const fail = (shown: string, type: RemovalFailure['type'], error: unknown): void => {
    const errno = errorCode(error)
    if (errno === 'ENOENT') return
    removal.failures.push({ path: shown, type, error: errno ?? String(error) })
  }

  /** True if it is a directory: the file system reports no types, or the entry was swapped meanwhile. */
  const unlinkUnlessDirectory = (entry: Path, shown: string, parent?: OpenDirectory): boolean => {
    try {
      const stat = options.measure ? lstatSync(entry) : undefined
      withPermission(parent, () => unlinkSync(entry))
      // A file that has another name elsewhere stays on the disk.
      if (stat?.nlink === 1) {
        removal.bytes += stat.size
        removal.disk_bytes += diskBytesOf(stat)
      }
      removal.removed += 1
    } catch (error) {
      if (isRealDirectory(entry)) return true
      fail(shown, 'file', error)
    }
    return false
  }

  function* removeDirectory(
    entry: Path,
    shown: string,
    depth: number,
    parent?: OpenDirectory,
  ): Generator<void> {
    let directory: OpenDirectory
    try {
      directory = openDirectory(entry)
    } catch (error) {
      fail(shown, 'directory', error)
      return
    }
    try {
      if (top === undefined && options.inode !== undefined && directory.ino !== options.inode) {
        fail(shown, 'directory', new Error('something else is in its place'))
        return
      }
      top ??= directory
      if (directory.dev !== top.dev) {
        fail(shown, 'directory', new Error('another file system is mounted here'))
        return
      }
      if (depth > maxDepth) {
        directory.makeWritable()
        withPermission(parent, () => renameSync(entry, `${top?.base}/.hoisted-${hoisted}`))
        hoisted += 1
        return
      }
      for (let pass = 0; pass < maxPasses; pass++) {
        const failuresBefore = removal.failures.length
        const hoistedBefore = hoisted
        yield* emptyDirectory(directory, shown, depth)
        if (!removal.complete) return
        const refilled = hoisted > hoistedBefore && depth === 0
        if (refilled) pass = 0
        else if (removal.failures.length > failuresBefore) return
        else if (removeEmpty(directory, entry, shown, pass, parent)) return
      }
    } catch (error) {
      fail(shown, 'directory', error)
    } finally {
      directory[Symbol.dispose]()
    }
  }

  function* emptyDirectory(directory: OpenDirectory, shown: string, depth: number): Generator<void> {
    const entries = yield* listSteps(directory.base, directory.size)
    for (const entry of entries) {
      if (removal.removed >= limit) {
        removal.complete = false
        return
      }
      const path = bytePath(`${latin1Of(directory.base)}/${entry.name}`)
      const name = `${shown}/${utf8Of(entry.name)}`
      if (entry.isDirectory() || unlinkUnlessDirectory(path, name, directory)) {
        yield* removeDirectory(path, name, depth + 1, directory)
        if (!removal.complete) return
      }
      if (isStepOver()) yield
    }
  }

  /** False if another process has put an entry there, and the directory should be emptied again. */
  const removeEmpty = (
    directory: OpenDirectory,
    entry: Path,
    shown: string,
    pass: number,
    parent?: OpenDirectory,
  ): boolean => {
    try {
      withPermission(parent, () => rmdirSync(entry))
      removal.removed += 1
      if (options.measure) removal.disk_bytes += diskBytesOf(directory)
    } catch (error) {
      if (errorCode(error) === 'ENOTEMPTY' && pass < maxPasses - 1) return false
      fail(shown, 'directory', error)
    }
    return true
  }

  const shown = options.shownAs ?? path
  if (isRealDirectory(path) || unlinkUnlessDirectory(path, shown)) yield* removeDirectory(path, shown, 0)
  return removal
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
