import { lstatSync, realpathSync, type Stats } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { stintHome } from '../primitives/home.ts'
import { isWithin } from '../primitives/is-within.ts'
import { mountsBeneath } from '../primitives/mounts.ts'
import { openDirectory } from '../primitives/open-directory.ts'
import {
  nothingRemoved,
  removeTree,
  type Removal,
  type RemovalFailure,
  type RemovalOptions,
  totalRemoval,
} from '../primitives/remove-tree.ts'
import { errnoOf, StintError } from '../primitives/stint-error.ts'
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
export function lookToTrack(path: string, root: ScratchRoot, context?: string): TrackedPath {
  const real = path === '' || path.includes('\0') ? undefined : realPlace(resolve(path))
  if (real === undefined || isTooMuch(real, root)) {
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

/** The real path of its parent, and its name in there: a link is tracked as a link, however one got to it. */
function realPlace(absolute: string): string {
  const [parent, name] = [dirname(absolute), basename(absolute)]
  if (parent === absolute) return absolute
  try {
    return join(realpathSync.native(parent), name)
  } catch {
    return join(realPlace(parent), name)
  }
}

/** The root and what is in it have other rules; a home, our own or the user's, or where we work must not go by mistake. */
export function isTooMuch(path: string, root: ScratchRoot): boolean {
  if (isWithin(path, root.path)) return true
  return [() => root.path, homedir, stintHome, () => process.cwd()].some((place) => holds(path, place))
}

/** Is that place the path itself, or somewhere below it? */
function holds(path: string, place: () => string): boolean {
  try {
    return isWithin(realOf(place()), path)
  } catch {
    // No home, or a current directory that is gone: then nothing can be lost there.
    return false
  }
}

function realOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}

/** What is there; undefined if nothing is. Throws if that cannot be told. */
function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error) ?? '')) return undefined
    throw error
  }
}

/** What the run itself tracks, by name: it knows what it has put there. Files first, then directories, deepest first. */
export function removeOwnTracked(all: readonly TrackedPath[], options: RemovalOptions = {}): Removal {
  return totalRemoval(inOrder(all).map((tracked) => removeTracked(tracked, options)))
}

export function inOrder(all: readonly TrackedPath[]): TrackedPath[] {
  const typed = all.map((tracked) => ({ tracked, directory: isDirectory(tracked.path) }))
  const depth = ({ tracked }: { tracked: TrackedPath }): number => tracked.path.split(sep).length
  return [
    ...typed.filter(({ directory }) => !directory),
    ...typed.filter(({ directory }) => directory).sort((a, b) => depth(b) - depth(a)),
  ].map(({ tracked }) => tracked)
}

export function isDirectory(path: string): boolean {
  try {
    return lstatSync(path).isDirectory()
  } catch {
    return false
  }
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
      if (options.onlyIfSame && !isSame(file, there)) return nothingRemoved()
      const [mount] = mountsBeneath(path)
      if (mount !== undefined) return failed({ path: mount, type: 'directory', error: 'MOUNT_POINT' })
      return removeTree(place, { ...options, shownAs: path, inode: there.ino })
    } finally {
      parent.close()
    }
  } catch (error) {
    return failed({ path, type: 'file', error: errnoOf(error) ?? String(error) })
  }
}

/** Undefined if the directory is gone, or another is in its place: then what was tracked is no longer there. */
function openParent({ path, parent }: TrackedPath): ReturnType<typeof openDirectory> | undefined {
  let opened: ReturnType<typeof openDirectory>
  try {
    opened = openDirectory(dirname(path))
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoOf(error) ?? '')) return undefined
    throw error
  }
  if (parent === null || (opened.dev === parent.dev && opened.ino === parent.ino)) return opened
  opened.close()
  return undefined
}

export const isSame = (file: TrackedPath['file'], stat: Stats): boolean =>
  file !== null && file.dev === stat.dev && file.ino === stat.ino && file.born === stat.birthtimeMs
