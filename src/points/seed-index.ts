import { closeSync, fstatSync, lstatSync, openSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ifPossible } from '../base/errors/if-possible.ts'
import { bytePath, latin1Of } from '../base/fs/paths.ts'
import { joinNul, splitNul } from './git.ts'
import type { PointStore } from './store.ts'
import { trackedPaths, type UserRepository } from './user-repository.ts'

/**
 * Fills the index of a new store. A copy of the user's index spares reading every file, where it shows what
 * is on disk. Otherwise every tracked file is read.
 */
export async function seedIndex(store: PointStore, repository: UserRepository): Promise<void> {
  if (repository.hasPlainIndex) {
    copyIndex(join(repository.gitDirectory, 'index'), store.file('git/index'))
    await dropUnusable(store)
  } else {
    const tracked = await trackedPaths(repository.root, [], store.deadline)
    const paths = presentPaths(repository.root, tracked)
    await store.git(['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], {
      input: joinNul(paths),
    })
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
 * Removes the entries that do not show what is on disk: files outside of a sparse checkout (`S`), files that
 * git was told to assume unchanged (small letters), unmerged ones (`M`), and submodules.
 */
async function dropUnusable(store: PointStore): Promise<void> {
  const lines = splitNul(await store.git(['ls-files', '-v', '-s', '-z']))
  const unusable = lines.filter((line) => !/^H (?!160000)/.test(line))
  if (unusable.length === 0) return
  const paths = unusable.map((line) => line.slice(line.indexOf('\t') + 1))
  await store.git(['update-index', '--force-remove', '-z', '--stdin'], { input: joinNul(paths) })
}

/** The paths without those below a link, which git refuses to add. */
function presentPaths(root: string, paths: readonly string[]): string[] {
  const top = latin1Of(root)
  const directories = new Map<string, boolean>([['.', true]])
  const isDirectory = (path: string): boolean => {
    const known = directories.get(path)
    if (known !== undefined) return known
    const isReal =
      isDirectory(dirname(path)) &&
      (ifPossible(() => lstatSync(bytePath(`${top}/${path}`)).isDirectory()) ?? false)
    directories.set(path, isReal)
    return isReal
  }
  return paths.filter((path) => isDirectory(dirname(path)))
}
