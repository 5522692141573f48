import { type Dirent, lstatSync, type Stats } from 'node:fs'
import { bytePath, latin1Of } from './paths.ts'
import { diskBytesOf, type DiskSpace, SpaceCounter } from './disk-space.ts'
import { listSteps } from './list-steps.ts'
import { openDirectory } from './open-directory.ts'
import { runToEnd, stepEnds } from '../process/run-generator.ts'
import { errorCode } from '../errors/stint-error.ts'

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

/** Measures a tree or a single file; yields after every few hundred entries. */
export function* measureSteps(path: string, options: MeasureOptions = {}): Generator<void, MeasuredTree> {
  const { counter = new SpaceCounter() } = options
  const size: MeasuredTree = { files: 0, directories: 0, bytes: 0, disk_bytes: 0, unreadable: 0 }
  const skip = options.skip === undefined ? undefined : latin1Of(options.skip)
  const isStepOver = stepEnds()
  let done = false

  /** An entry that has disappeared meanwhile counts as 0, one that cannot be read as unreadable. */
  const noteUnreadable = (error: unknown): void => {
    if (!['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) size.unreadable += 1
  }

  const attempt = <Result>(read: () => Result): Result | undefined => {
    try {
      return read()
    } catch (error) {
      noteUnreadable(error)
      return undefined
    }
  }

  /** Yields, unless the caller has seen enough. */
  function* pause(): Generator<void> {
    done ||= options.enough?.(size) ?? false
    if (!done) yield
  }

  /** The entries of a directory; as many as were read when the caller has seen enough. */
  function* list(directory: Directory): Generator<void, readonly Dirent[]> {
    const steps = listSteps(bytePath(directory.path), directory.size)
    try {
      for (;;) {
        const step = steps.next()
        if (step.done) return step.value
        yield* pause()
        if (done) return []
      }
    } catch (error) {
      noteUnreadable(error)
      return []
    } finally {
      steps.return([])
    }
  }

  const countFile = (stat: Stats | undefined): void => {
    size.files += 1
    const space = stat && counter.spaceOf(stat)
    size.bytes += space?.bytes ?? 0
    size.disk_bytes += space?.disk_bytes ?? 0
  }

  const countDirectory = (stat: Stats | undefined): void => {
    size.directories += 1
    size.disk_bytes += stat === undefined ? 0 : diskBytesOf(stat)
  }

  function* walk(top: Directory): Generator<void> {
    const pending = [top]
    for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
      for (const entry of yield* list(directory)) {
        const inner = `${directory.path}/${entry.name}`
        if (inner === skip) continue
        const stat = attempt(() => look(inner))
        if (!entry.isDirectory()) countFile(stat)
        else {
          countDirectory(stat)
          if (inner.length > longPath) yield* walkFrom(inner)
          else if (stat !== undefined) pending.push({ path: inner, size: stat.size })
        }
        if (isStepOver()) yield* pause()
        if (done) return
      }
      if (done) return
    }
  }

  function* walkFrom(deep: string): Generator<void> {
    using directory = attempt(() => openDirectory(bytePath(deep), { asIs: true }))
    if (directory !== undefined) yield* walk({ path: latin1Of(directory.base), size: directory.size })
  }

  const top = latin1Of(path)
  const stat = attempt(() => look(top))
  if (stat === undefined || top === skip) return size
  if (!stat.isDirectory()) countFile(stat)
  else {
    countDirectory(stat)
    yield* walk({ path: top, size: stat.size })
  }
  return size
}

const look = (latin1: string): Stats | undefined => lstatSync(bytePath(latin1), { throwIfNoEntry: false })

/** A directory to list: its path as Latin-1, and its own size in bytes. */
interface Directory {
  path: string
  size: number
}
