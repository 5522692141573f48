import { lstatSync, realpathSync, type Stats } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, resolve, sep } from 'node:path'
import { stintHome } from '../base/fs/home.ts'
import { isWithin, realParentPath } from '../base/fs/paths.ts'
import { type OpenDirectory, openDirectory } from '../base/fs/open-directory.ts'
import { isRealDirectory } from '../base/fs/exists.ts'
import {
  nothingRemoved,
  removeTree,
  type Removal,
  type RemovalFailure,
  type RemovalOptions,
  totalRemoval,
} from '../base/fs/remove-tree.ts'
import { errorCode, StintError } from '../base/errors/stint-error.ts'
import { mountFailure } from './trash.ts'
import type { ScratchRoot } from './root.ts'

/** A path outside the scratch that must go with it. */
export interface TrackedPath {
  /** With its parent's real path, as it was then. */
  path: string
  /** The directory it is in: what is found by this name anywhere else is not it. Null if there was none yet. */
  parent: FileIdentity | null
  /**
   * What stood there, so that a sweep, perhaps days later, never deletes what somebody else has put there since. Null if nothing was there yet: then
   * only its own run removes it.
   */
  file: (FileIdentity & { born: number }) | null
  /** The context that tracks it. */
  context?: string
}

interface FileIdentity {
  dev: number
  ino: number
}

/** Looks at a path before it is tracked; `NAME_INVALID` for one whose removal would take too much along. */
export function identifyForTracking(path: string, root: ScratchRoot, context?: string): TrackedPath {
  const real = path === '' || path.includes('\0') ? undefined : realParentPath(resolve(path))
  if (real === undefined || isProtected(real, root)) {
    const name = JSON.stringify(path.slice(0, 200))
    throw new StintError('NAME_INVALID', `refusing to track ${name}: too much would be deleted`)
  }
  const parent = statOf(dirname(real))
  const file = statOf(real)
  return {
    path: real,
    parent: parent === undefined ? null : { dev: parent.dev, ino: parent.ino },
    file: file === undefined ? null : { dev: file.dev, ino: file.ino, born: file.birthtimeMs },
    context,
  }
}

/** Would removing this path remove too much? The root and everything in it have other rules. */
export const isProtected = (
  path: string,
  root: ScratchRoot,
  precious: readonly string[] = protectedPaths(root),
): boolean => isWithin(path, root.path) || precious.some((place) => isWithin(place, path))

/** Real paths of what must not be removed by mistake: the root, the user's home, our own, and the current directory. */
export const protectedPaths = (root: ScratchRoot): string[] =>
  [() => root.path, homedir, stintHome, () => process.cwd()].flatMap((find) => realPath(find) ?? [])

function realPath(find: () => string): string | undefined {
  try {
    const path = find()
    return realpathIfThere(path) ?? path
  } catch {
    // No home, or a current directory that is gone: nothing can be lost there.
    return undefined
  }
}

function realpathIfThere(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}

/** What is there; undefined if nothing is. Throws if that cannot be told. */
export function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return undefined
    throw error
  }
}

/** What the run itself tracks, by name: it knows what it has put there. Files first, then directories, deepest first. */
export function removeOwnTracked(all: readonly TrackedPath[], options: RemovalOptions = {}): Removal {
  return totalRemoval(inRemovalOrder(all).map((tracked) => removeTracked(tracked, options)))
}

export function inRemovalOrder(all: readonly TrackedPath[]): TrackedPath[] {
  const typed = all.map((tracked) => ({ tracked, directory: isRealDirectory(tracked.path) }))
  const depth = ({ tracked }: { tracked: TrackedPath }): number => tracked.path.split(sep).length
  return [
    ...typed.filter(({ directory }) => !directory),
    ...typed.filter(({ directory }) => directory).sort((a, b) => depth(b) - depth(a)),
  ].map(({ tracked }) => tracked)
}

/**
 * Removes it by its name in the directory it was in, held open, and never through a mount. Already gone counts as removed. Never throws. With
 * `onlyIfSame`, only what is still the same file.
 */
export function removeTracked(
  tracked: TrackedPath,
  options: RemovalOptions & { onlyIfSame?: boolean } = {},
): Removal {
  const { path, file } = tracked
  const failed = (failure: RemovalFailure): Removal => ({ ...nothingRemoved(), failures: [failure] })
  try {
    const parent = openParent(tracked)
    if (parent === undefined) return { ...nothingRemoved(), removed: 1 }
    try {
      const place = `${parent.base}/${basename(path)}`
      const there = statOf(place)
      if (there === undefined) return { ...nothingRemoved(), removed: 1 }
      if (options.onlyIfSame && !isSameFile(file, there)) return nothingRemoved()
      // Only a directory can be walked through. A file with a mount on it cannot be removed, and the removal says so.
      const mounted = there.isDirectory() ? mountFailure(path) : undefined
      if (mounted !== undefined) return failed(mounted)
      return removeTree(place, { ...options, shownAs: path, inode: there.ino })
    } finally {
      parent.close()
    }
  } catch (error) {
    return failed({ path, type: 'file', error: errorCode(error) ?? String(error) })
  }
}

/** Opens the directory of a tracked path, and leaves its mode alone: it is the user's. Undefined if it is gone or replaced; then so is the path. */
function openParent({ path, parent }: TrackedPath): OpenDirectory | undefined {
  let opened: OpenDirectory
  try {
    opened = openDirectory(dirname(path), { asIs: true })
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errorCode(error) ?? '')) return undefined
    throw error
  }
  if (parent === null || (opened.dev === parent.dev && opened.ino === parent.ino)) return opened
  opened.close()
  return undefined
}

export const isSameFile = (file: TrackedPath['file'], stat: Stats): boolean =>
  file !== null && file.dev === stat.dev && file.ino === stat.ino && file.born === stat.birthtimeMs
