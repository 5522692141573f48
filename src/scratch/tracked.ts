import { lstatSync, realpathSync, type Stats } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { basename, dirname, resolve, sep } from 'node:path'
import { stintHome } from '../base/fs/home.ts'
import { isWithin, pathAncestors, realParentPath } from '../base/fs/paths.ts'
import { type OpenDirectory, openDirectory } from '../base/fs/open-directory.ts'
import { isRealDirectory, lstatIfExists, unless } from '../base/fs/exists.ts'
import {
  nothingRemoved,
  removeTree,
  type Removal,
  type RemovalFailure,
  type RemovalOptions,
  totalRemoval,
} from '../base/fs/remove-tree.ts'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorCode, StintError } from '../base/errors/stint-error.ts'
import { mountFailure } from './trash.ts'
import type { ScratchRoot } from './root.ts'

/** A path outside the scratch that is removed with it. */
export interface TrackedPath {
  /** The real path of its parent when it was tracked, and its name. */
  path: string
  /** The parent directory: in another one, the name means another file. Null if the parent did not exist. */
  parent: FileIdentity | null
  /**
   * The file itself, so that a sweep, perhaps days later, never deletes another file of that name. Null if
   * nothing was there: then only the run itself removes it.
   */
  file: (FileIdentity & { born: number }) | null
  /** The context that tracks it. */
  context?: string
}

interface FileIdentity {
  dev: number
  ino: number
}

/** Identifies a path to track. Throws `NAME_INVALID` if removing it would remove a protected directory. */
export function identifyForTracking(path: string, root: ScratchRoot, context?: string): TrackedPath {
  const real = path === '' || path.includes('\0') ? undefined : realParentPath(resolve(path))
  if (real === undefined || isProtected(real, root)) {
    const name = JSON.stringify(path.slice(0, 200))
    throw new StintError(
      'NAME_INVALID',
      `refusing to track ${name}: removing it would remove a protected directory`,
      { hint: 'Track the files themselves, or a directory that is made for them.' },
    )
  }
  const parent = lstatIfExists(dirname(real))
  const file = lstatIfExists(real)
  return {
    path: real,
    parent: parent === undefined ? null : { dev: parent.dev, ino: parent.ino },
    file: file === undefined ? null : { dev: file.dev, ino: file.ino, born: file.birthtimeMs },
    context,
  }
}

/** Whether a path contains a protected directory, or is in the root, where other rules apply. */
export const isProtected = (
  path: string,
  root: ScratchRoot,
  protectedDirectories: readonly string[] = protectedPaths(root),
): boolean =>
  isWithin(path, root.path) ||
  protectedDirectories.some((directory) => isWithin(directory, path)) ||
  isAncestorOfAny(path, protectedDirectories)

/** Compares files instead of names: a bind mount or a second spelling can lead to a protected directory. */
const isAncestorOfAny = (path: string, protectedDirectories: readonly string[]): boolean =>
  isRealDirectory(path) &&
  protectedDirectories.flatMap(pathAncestors).some((ancestor) => isSameDirectory(ancestor, path))

function isSameDirectory(path: string, otherPath: string): boolean {
  const [a, b] = [path, otherPath].map((path) => ifPossible(() => lstatSync(path)))
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev
}

/**
 * The real paths that must never be removed: the root, the homes, and the current directory. HOME may name a
 * temporary directory, for example in a test, so the home in the user database is protected, too; and
 * `homedir` does not see a HOME that was set in a replaced `process.env`.
 */
export const protectedPaths = (root: ScratchRoot): string[] =>
  [
    () => root.path,
    homedir,
    () => process.env.HOME,
    () => userInfo().homedir,
    stintHome,
    () => process.cwd(),
  ].flatMap((find) => {
    // Without a home, or in a removed current directory, there is nothing to protect.
    const path = ifPossible(find)
    return path ? [realpathIfThere(path) ?? path] : []
  })

const realpathIfThere = (path: string): string | undefined => ifPossible(() => realpathSync.native(path))

/** Removes the paths that this run tracks, whatever files they are now. */
export function removeOwnTracked(all: readonly TrackedPath[], options: RemovalOptions = {}): Removal {
  return totalRemoval(inRemovalOrder(all).map((tracked) => removeTracked(tracked, options)))
}

/** Files first, then directories, deepest first. */
export function inRemovalOrder(all: readonly TrackedPath[]): TrackedPath[] {
  const typed = all.map((tracked) => ({ tracked, directory: isRealDirectory(tracked.path) }))
  const depth = ({ tracked }: { tracked: TrackedPath }): number => tracked.path.split(sep).length
  return [
    ...typed.filter(({ directory }) => !directory),
    ...typed.filter(({ directory }) => directory).sort((a, b) => depth(b) - depth(a)),
  ].map(({ tracked }) => tracked)
}

/**
 * Removes a tracked path by its name in its parent directory, held open, and never through a mount. A path
 * that is already gone counts as removed. With `onlyIfSame`, removes only the same file. Never throws.
 */
export function removeTracked(
  tracked: TrackedPath,
  options: RemovalOptions & { onlyIfSame?: boolean } = {},
): Removal {
  const { path, file } = tracked
  const failed = (failure: RemovalFailure): Removal => ({ ...nothingRemoved(), failures: [failure] })
  try {
    using parent = openParent(tracked)
    const entry = parent && `${parent.base}/${basename(path)}`
    const stat = entry && lstatIfExists(entry)
    if (!entry || !stat) return { ...nothingRemoved(), removed: 1 }
    if (options.onlyIfSame && !isSameFile(file, stat)) return nothingRemoved()
    // Only a directory can lead through a mount. Unlinking a file that has a mount on it fails.
    const mounted = stat.isDirectory() ? mountFailure(path) : undefined
    if (mounted !== undefined) return failed(mounted)
    return removeTree(entry, { ...options, shownAs: path, inode: stat.ino })
  } catch (error) {
    return failed({ path, type: 'file', error: errorCode(error) ?? String(error) })
  }
}

/**
 * Opens the parent directory of a tracked path without changing its mode, because it is the user's. Undefined
 * if the directory is gone or replaced: then the path is gone, too. A parent that did not exist yet must have
 * been made at its path since: a link on the way leads to files of others.
 */
function openParent({ path, parent }: TrackedPath): OpenDirectory | undefined {
  const directory = unless(['ENOENT', 'ENOTDIR', 'ELOOP'], () => openDirectory(dirname(path), { asIs: true }))
  if (directory === undefined) return undefined
  const isOurs =
    parent === null
      ? realpathIfThere(directory.base) === dirname(path)
      : directory.dev === parent.dev && directory.ino === parent.ino
  if (isOurs) return directory
  directory[Symbol.dispose]()
  return undefined
}

export const isSameFile = (file: TrackedPath['file'], stat: Stats): boolean =>
  file !== null && file.dev === stat.dev && file.ino === stat.ino && file.born === stat.birthtimeMs
