import { closeSync, fstatSync, openSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isRealDirectory } from '../base/fs/exists.ts'
import { joinNul, splitNul } from './git.ts'
import type { PointStore } from './store.ts'
import { trackedPaths, type UserRepository } from './user-repository.ts'

/**
 * Fills the index of a new store. A copy of the user's index spares reading every file. Entries that may not
 * show what is on disk are read again, and so is everything if git cannot use the copy (a split index).
 */
export async function seedIndex(store: PointStore, repository: UserRepository): Promise<void> {
  const stalePaths = await copyUserIndex(store, repository)
  await updateIndex(store, presentPaths(store, stalePaths), [])
}

/** Brings paths of the index up to date with the disk. A path in `added` that is gone is removed. */
export async function updateIndex(
  store: PointStore,
  added: readonly string[],
  removed: readonly string[],
): Promise<void> {
  // Removed first: a file may have become a directory. `--remove` would refuse a path below a link.
  if (removed.length > 0)
    await store.git(['update-index', '--force-remove', '-z', '--stdin'], { input: joinNul(removed) })
  if (added.length > 0)
    await store.git(['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], {
      input: joinNul(added),
    })
}

/** Copies the user's index without the entries that may not show what is on disk; returns their paths. */
async function copyUserIndex(store: PointStore, repository: UserRepository): Promise<string[]> {
  const { root, gitDirectory, converted } = repository
  try {
    if (converted === undefined) throw new Error('every file has to be read')
    copyIndex(join(gitDirectory, 'index'), store.file('git/index'))
    return await dropStale(store, new Set(converted))
  } catch {
    rmSync(store.file('git/index'), { force: true })
    return await trackedPaths(root, [], store.deadline)
  }
}

/**
 * Copies an index with its time. Git reads a file again if the file is not older than the index: a copy with
 * a newer time would hide an edit of the same size in the same tick. An earlier time is safe.
 */
function copyIndex(from: string, to: string): void {
  const fd = openSync(from, 'r')
  try {
    const seconds = Math.floor(fstatSync(fd).mtimeMs / 1000)
    writeFileSync(to, readFileSync(fd), { mode: 0o600 })
    utimesSync(to, seconds, seconds)
  } finally {
    closeSync(fd)
  }
}

/**
 * Removes entries from a copied index: converted files, files outside of a sparse checkout (`S`), files that
 * git was told to assume unchanged (small letters), unmerged ones (`M`), and submodules (160000), which are
 * not returned.
 */
async function dropStale(store: PointStore, converted: ReadonlySet<string>): Promise<string[]> {
  const entries = splitNul(await store.git(['ls-files', '-v', '-s', '-z'])).map((line) => ({
    path: line.slice(line.indexOf('\t') + 1),
    isUsable: line.startsWith('H '),
    isSubmodule: line.startsWith('160000', 2),
  }))
  const stale = entries.filter(
    ({ path, isUsable, isSubmodule }) => !isUsable || isSubmodule || converted.has(path),
  )
  const pathsOf = (some: typeof entries): string[] => some.map(({ path }) => path)
  await updateIndex(store, [], pathsOf(stale))
  return pathsOf(stale.filter(({ isSubmodule }) => !isSubmodule))
}

/** The paths without those below a link, which git refuses to add. */
function presentPaths(store: PointStore, paths: readonly string[]): string[] {
  const directories = new Map<string, boolean>([['.', true]])
  const isDirectory = (path: string): boolean => {
    const isReal =
      directories.get(path) ?? (isDirectory(dirname(path)) && isRealDirectory(store.pathOf(path)))
    directories.set(path, isReal)
    return isReal
  }
  return paths.filter((path) => isDirectory(dirname(path)))
}
