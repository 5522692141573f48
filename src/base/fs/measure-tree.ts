import { type Dirent, lstatSync, readdirSync, type Stats } from 'node:fs'
import { bytePath, latin1Of } from './paths.ts'
import { diskBytesOf, type DiskSpace, SpaceCounter } from './disk-space.ts'
import { openDirectory } from './open-directory.ts'
import { runToEnd } from '../process/run-generator.ts'
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

export interface MeasuredTree extends TreeSize {
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

const entriesPerStep = 256
/** Below a longer path, paths start from the directory's descriptor, so that none grows too long. */
const longPath = 2048

/** Measures a tree or a single file; yields after every few hundred entries. */
export function* measureSteps(path: string, options: MeasureOptions = {}): Generator<void, MeasuredTree> {
  const { counter = new SpaceCounter() } = options
  const size: MeasuredTree = { files: 0, directories: 0, bytes: 0, disk_bytes: 0, unreadable: 0 }
  const skip = options.skip === undefined ? undefined : latin1Of(options.skip)
  let counted = 0
  let done = false

  /** An entry that has disappeared meanwhile counts as 0, one that cannot be read as unreadable. */
  const attempt = <Result>(read: () => Result): Result | undefined => {
    try {
      return read()
    } catch (error) {
      if (!['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) size.unreadable += 1
      return undefined
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

  function* walk(top: string): Generator<void> {
    const pending = [top]
    for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
      const here = directory
      for (const entry of attempt(() => entriesOf(here)) ?? []) {
        const inner = `${here}/${entry.name}`
        if (inner === skip) continue
        const stat = attempt(() => look(inner))
        if (!entry.isDirectory()) countFile(stat)
        else {
          countDirectory(stat)
          if (inner.length > longPath) yield* walkFrom(inner)
          else pending.push(inner)
        }
        counted += 1
        if (counted % entriesPerStep === 0) {
          done ||= options.enough?.(size) ?? false
          if (!done) yield
        }
        if (done) return
      }
    }
  }

  function* walkFrom(deep: string): Generator<void> {
    using directory = attempt(() => openDirectory(bytePath(deep), { asIs: true }))
    if (directory !== undefined) yield* walk(latin1Of(directory.base))
  }

  const top = latin1Of(path)
  const stat = attempt(() => look(top))
  if (stat === undefined || top === skip) return size
  if (!stat.isDirectory()) countFile(stat)
  else {
    countDirectory(stat)
    yield* walk(top)
  }
  return size
}

const look = (latin1: string): Stats | undefined => lstatSync(bytePath(latin1), { throwIfNoEntry: false })

const entriesOf = (latin1: string): Dirent[] =>
  readdirSync(bytePath(latin1), { withFileTypes: true, encoding: 'latin1' })
