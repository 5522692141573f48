import { lstatSync, rmdirSync, unlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join, resolve, sep } from 'node:path'
import { mountsBeneath } from '../primitives/mounts.ts'
import { appendPrivateFile } from '../primitives/private-file.ts'
import {
  nothingRemoved,
  removeTree,
  type Removal,
  type RemovalOptions,
  totalRemoval,
} from '../primitives/remove-tree.ts'
import { readSmallFile } from '../primitives/small-file.ts'
import { codedError, errnoOf, StintError } from '../primitives/stint-error.ts'
import { ensureScratchDirectory, type ScratchRoot } from './root.ts'

/**
 * A path outside the scratch that must go with it. What stood there is remembered by inode and birth time, so
 * that a sweep, perhaps days later, never deletes what somebody else has put there since.
 */
interface TrackedPath {
  path: string
  /** Null if nothing was there yet: then only its own run removes it, never a sweep. */
  file: { dev: number; ino: number; born: number } | null
  /** The context that tracks it. */
  context?: string
}

/** Beside the scratches, not in them: a program that may write only to its scratch must not choose what a sweep deletes. */
const recordPath = (root: ScratchRoot, requestId: string): string => join(root.tracked, requestId)

export function recordTracked(root: ScratchRoot, requestId: string, path: string, context?: string): string {
  const absolute = resolve(path)
  if (path === '' || path.includes('\0') || isTooMuch(absolute, root)) {
    throw new StintError(
      'NAME_INVALID',
      `refusing to track ${JSON.stringify(path)}: too much would be deleted`,
    )
  }
  const tracked: TrackedPath = { path: absolute, file: fingerprint(absolute), context }
  append(root, requestId, `${JSON.stringify(tracked)}\n`)
  return absolute
}

/** The last run to forget what it tracks removes the directory: perhaps just after we have seen it there. */
function append(root: ScratchRoot, requestId: string, line: string): void {
  for (let tries = 0; ; tries++) {
    try {
      ensureScratchDirectory(root.tracked)
      return appendPrivateFile(recordPath(root, requestId), line)
    } catch (error) {
      const wasRemoved =
        errnoOf(error) === 'ENOENT' || (error instanceof StintError && error.code === 'TEMP_DIR_MISSING')
      if (!wasRemoved || tries === 100) throw codedError(error, `track a path in ${root.tracked}`)
    }
  }
}

/** What the run itself tracks, by name: it knows what it has put there. Files first, then directories, deepest first. */
export function removeOwnTracked(paths: readonly string[], options: RemovalOptions = {}): Removal {
  const typed = paths.map((path) => ({ path, type: typeAt(path), depth: path.split(sep).length }))
  const directories = typed.filter(({ type }) => type === 'directory').sort((a, b) => b.depth - a.depth)
  const others = typed.filter(({ type }) => type !== 'directory')
  return totalRemoval(
    [...others, ...directories].map(({ path, type }) =>
      type === undefined ? { ...nothingRemoved(), removed: 1 } : removeUnlessMounted(path, options),
    ),
  )
}

const typeAt = (path: string): 'file' | 'directory' | undefined => {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat && (stat.isDirectory() ? 'directory' : 'file')
}

/** What a dead run has tracked, as far as it is still what it was. */
export function removeDeadTracked(root: ScratchRoot, scratch: string): Removal {
  const requestId = basename(scratch)
  const text = readSmallFile(recordPath(root, requestId))
  // A line that was never finished names nothing; a record may have no other.
  const lines = (text ?? '').split('\n').slice(0, -1)
  const removal = totalRemoval(
    lines.flatMap((line) => {
      const tracked = parseTracked(line)
      const unchanged = tracked?.file && isSame(tracked.file, fingerprint(tracked.path))
      return tracked && unchanged && !isTooMuch(resolve(tracked.path), root)
        ? [removeUnlessMounted(tracked.path, { measure: true })]
        : []
    }),
  )
  if (text !== undefined) forgetTracked(root, requestId)
  return removal
}

/** Removes what is there, unless something is mounted beneath it: a recursive delete would go through. */
export function removeUnlessMounted(path: string, options: RemovalOptions): Removal {
  const [mount] = mountsBeneath(path)
  if (mount === undefined) return removeTree(path, options)
  return { ...nothingRemoved(), failures: [{ path: mount, type: 'directory', error: 'MOUNT_POINT' }] }
}

/** The record of a run that tracks nothing any more. */
export function forgetTracked(root: ScratchRoot, requestId: string): void {
  try {
    unlinkSync(recordPath(root, requestId))
    rmdirSync(root.tracked)
  } catch {
    // There was none, or other runs have theirs.
  }
}

function parseTracked(line: string): TrackedPath | undefined {
  try {
    const value = JSON.parse(line) as TrackedPath
    return typeof value.path === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

function fingerprint(path: string): TrackedPath['file'] {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat === undefined ? null : { dev: stat.dev, ino: stat.ino, born: stat.birthtimeMs }
}

const isSame = (a: NonNullable<TrackedPath['file']>, b: TrackedPath['file']): boolean =>
  a.dev === b?.dev && a.ino === b.ino && a.born === b.born

const isTooMuch = (absolute: string, root: ScratchRoot): boolean =>
  isAncestorOf(absolute, homedir()) || isAncestorOf(absolute, root.path) || isAncestorOf(root.path, absolute)

const isAncestorOf = (path: string, other: string): boolean =>
  `${other}${sep}`.startsWith(path.endsWith(sep) ? path : `${path}${sep}`)
