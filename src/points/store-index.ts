import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gitOutput, joinNul, splitNul } from './git.ts'
import type { PointStore } from './store.ts'
import { readingEnvironment, type UserRepository } from './user-repository.ts'

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

const listEntries = ['ls-files', '-v', '-s', '-z']

/**
 * Fills the index of a store with the entries of the user's. A copy of that file has the size and times of
 * each file, so that git need not read it; entries that may not show what is on disk get none.
 */
export async function seedIndex(store: PointStore, repository: UserRepository): Promise<void> {
  const { root, commonDirectory, converted } = repository
  rmSync(store.file('git/index'), { force: true })
  // The entries name objects of the user. The sweep packs these into the store, and removes this file.
  writeFileSync(store.file('git/objects/info/alternates'), `${join(commonDirectory, 'objects')}\n`, {
    mode: 0o600,
  })
  const copied = converted === undefined ? undefined : await listCopy(store, repository)
  const options = { cwd: root, env: readingEnvironment(), deadline: store.deadline }
  const listing = copied ?? (await gitOutput(listEntries, options))
  const isFresh = (path: string, flag: string): boolean =>
    copied !== undefined && flag === 'H' && converted?.has(path) === false
  const replaced = splitNul(listing).flatMap((line) => {
    const path = line.slice(line.indexOf('\t') + 1)
    const [flag = '', mode, oid = ''] = line.split(' ', 3)
    // A submodule is removed.
    if (mode === '160000') return [`0 ${'0'.repeat(oid.length)}\t${path}`]
    return isFresh(path, flag) ? [] : [`${mode} ${oid} 0\t${path}`]
  })
  if (replaced.length > 0)
    await store.git(['update-index', '-z', '--index-info'], { input: joinNul(replaced) })
}

/**
 * Copies the user's index, and lists its entries with their flags: `S` outside of a sparse checkout, `M`
 * unmerged, small letters if git assumes the file unchanged. Undefined if git cannot read the copy, which
 * may be one half of a split index.
 */
async function listCopy(store: PointStore, { gitDirectory }: UserRepository): Promise<Buffer | undefined> {
  const [original, copy] = [join(gitDirectory, 'index'), store.file('git/index')]
  try {
    // Git reads a file again if it is not older than the index: a copy with a newer time would hide an edit
    // of the same size in the same tick. An earlier time is safe, so it is asked before the index is read.
    const seconds = Math.floor(statSync(original).mtimeMs / 1000)
    writeFileSync(copy, readFileSync(original), { mode: 0o600 })
    utimesSync(copy, seconds, seconds)
    return await store.git(listEntries)
  } catch {
    rmSync(copy, { force: true })
    return undefined
  }
}
