import { lstatSync, readdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs'
import { bytePath, latin1Of, readable } from './byte-path.ts'
import { type OpenDirectory, openDirectory } from './open-directory.ts'
import { isRealDirectory } from './exists.ts'
import { runToEnd } from '../process/run-generator.ts'
import { errorCode } from '../errors/stint-error.ts'

export interface RemovalFailure {
  path: string
  type: 'file' | 'directory'
  /** The errno name, such as `EPERM`. */
  error: string
}

export interface Removal {
  /** Entries removed, directories included; what was already gone is not counted. */
  removed: number
  /** Size of the files removed; 0 unless asked to measure. */
  bytes: number
  failures: RemovalFailure[]
  /** False if the limit ended it before the tree was gone. */
  complete: boolean
}

export interface RemovalOptions {
  /** What the top is called in failures, if not by its path. */
  shownAs?: string
  /** The inode of the top, if it is known: anything else in its place stays. */
  inode?: number
  /** Told of each entry that has gone. */
  onRemoved?: (path: string, type: RemovalFailure['type']) => void
  /** Count bytes: one more system call a file. */
  measure?: boolean
  /** Give up where it would take more than this many entries; what is left stays for somebody else. */
  limit?: number
}

export const nothingRemoved = (): Removal => ({ removed: 0, bytes: 0, failures: [], complete: true })

export const totalRemoval = (removals: readonly Removal[]): Removal => ({
  removed: removals.reduce((sum, { removed }) => sum + removed, 0),
  bytes: removals.reduce((sum, { bytes }) => sum + bytes, 0),
  failures: removals.flatMap(({ failures }) => failures),
  complete: removals.every(({ complete }) => complete),
})

/** Removes a tree, or whatever else is at `path`, without following a symlink or leaving its file system. */
export const removeTree = (path: string, options: RemovalOptions = {}): Removal =>
  runToEnd(removalSteps(path, options))

const entriesPerStep = 256
/** Each level holds a descriptor; what lies deeper is first moved up to the top. */
const maxDepth = 64
/** How often a directory that fills up again while it is being emptied gets another try. */
const maxPasses = 4

/** Yields after every few hundred entries. */
export function* removalSteps(path: string, options: RemovalOptions): Generator<void, Removal> {
  const removal = nothingRemoved()
  const limit = options.limit ?? Number.POSITIVE_INFINITY
  let hoisted = 0
  let top: OpenDirectory | undefined

  const fail = (shown: string, type: RemovalFailure['type'], error: unknown): void => {
    const errno = errorCode(error)
    if (errno === 'ENOENT') return
    removal.failures.push({ path: shown, type, error: errno ?? String(error) })
  }

  /** True if it is a directory after all (a file system without types, or a swap under our feet). */
  const unlinkUnlessDirectory = (entry: Path, shown: string, parent?: OpenDirectory): boolean => {
    try {
      const size = options.measure ? lstatSync(entry).size : 0
      withPermission(parent, () => unlinkSync(entry))
      removal.bytes += size
      removal.removed += 1
      options.onRemoved?.(shown, 'file')
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
        else if (removal.failures.length > failuresBefore || removeEmpty(entry, shown, pass, parent)) return
      }
    } catch (error) {
      fail(shown, 'directory', error)
    } finally {
      directory.close()
    }
  }

  function* emptyDirectory(directory: OpenDirectory, shown: string, depth: number): Generator<void> {
    const entries = readdirSync(directory.base, { withFileTypes: true, encoding: 'latin1' })
    for (const entry of entries) {
      if (removal.removed >= limit) {
        removal.complete = false
        return
      }
      const path = bytePath(`${latin1Of(directory.base)}/${entry.name}`)
      const name = `${shown}/${readable(entry.name)}`
      if (entry.isDirectory() || unlinkUnlessDirectory(path, name, directory)) {
        yield* removeDirectory(path, name, depth + 1, directory)
        if (!removal.complete) return
      }
      if (removal.removed % entriesPerStep === 0) yield
    }
  }

  /** False if something was put there meanwhile and it should be emptied again. */
  const removeEmpty = (entry: Path, shown: string, pass: number, parent?: OpenDirectory): boolean => {
    try {
      withPermission(parent, () => rmdirSync(entry))
      removal.removed += 1
      options.onRemoved?.(shown, 'directory')
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

/** A directory of ours without write permission is given it once. */
function withPermission(parent: OpenDirectory | undefined, act: () => void): void {
  try {
    act()
  } catch (error) {
    if (errorCode(error) !== 'EACCES' || !parent?.makeWritable()) throw error
    act()
  }
}
