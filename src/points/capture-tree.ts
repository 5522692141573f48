import { accessSync, constants, lstatSync, unlinkSync, writeFileSync } from 'node:fs'
import { ifPossible, succeeds } from '../base/errors/if-possible.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { bytePath, latin1Of } from '../base/fs/paths.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { joinNul, splitNul } from './git.ts'
import { findKeptIgnored } from './kept-ignored.ts'
import type { LeftOut } from './point.ts'
import { type PointStore, refreshExcludes } from './store.ts'
import { maxFiles, trackedPaths } from './user-repository.ts'

/** The contents of a worktree at one moment, as a tree of the store. */
export interface CapturedTree {
  tree: string
  leftOut: LeftOut[]
}

/** Untracked files over this size are not kept. */
const maxUntrackedBytes = 10 << 20

/** What `git status` found: differences between the index of the store and the disk. */
interface WorktreeChanges {
  present: string[]
  deleted: string[]
  repositories: string[]
  /** How many entries of the index differ from the commit that HEAD of the store names. */
  aheadOfHead: number
}

/**
 * Brings the index of a store up to date with the disk, and writes its tree. The caller holds the lock of the
 * store. Costs one `git status`, and two short calls more if something has changed.
 */
export async function captureTree(store: PointStore): Promise<CapturedTree> {
  refreshExcludes(store)
  const changes = parseStatus(await store.git(['status', '--porcelain=v2', '-z', '--no-renames']))
  if (changes.present.length > maxFiles)
    throw new StintError('POINTS_OFF', `${store.root} has over ${maxFiles} files that git does not track`)
  const ignored = await findKeptIgnored(store)
  const { kept, leftOut, dropped } = await sortPresent(store, [...changes.present, ...ignored])
  const removed = [...changes.deleted, ...dropped]
  const known = readSmallFile(store.file('tree'))?.trim()
  const repositories = changes.repositories.map((path) => ({ path, why: 'another repository' as const }))
  const allLeftOut: LeftOut[] = [...repositories, ...leftOut]
  if (known !== undefined && kept.length === 0 && removed.length === 0)
    return { tree: known, leftOut: allLeftOut }
  ifPossible(() => unlinkSync(store.file('tree')))
  await updateIndex(store, kept, removed)
  const tree = (await store.git(['write-tree'])).toString().trim()
  // Refs keep the trees when the sweep repacks the store.
  writeFileSync(store.file(`git/refs/trees/${tree}`), `${tree}\n`, { mode: 0o600 })
  if (known === undefined || changes.aheadOfHead > 1000) await moveHead(store, tree)
  writeFileSync(store.file('tree'), tree, { mode: 0o600 })
  return { tree, leftOut: allLeftOut }
}

/** Parses `git status --porcelain=v2 -z`: `1 XY …8 fields… path`, and `? path` for what the index lacks. */
function parseStatus(output: Buffer): WorktreeChanges {
  const changes: WorktreeChanges = { present: [], deleted: [], repositories: [], aheadOfHead: 0 }
  for (const entry of splitNul(output)) {
    if (entry.startsWith('? ')) {
      const path = entry.slice(2)
      const list = path.endsWith('/') ? changes.repositories : changes.present
      list.push(path)
      continue
    }
    const [, kinds = '..', path = ''] = /^1 (..) \S+ \S+ \S+ \S+ \S+ \S+ (.*)$/s.exec(entry) ?? []
    if (kinds[0] !== '.') changes.aheadOfHead += 1
    if (kinds[1] === 'D') changes.deleted.push(path)
    else if (kinds[1] !== '.') changes.present.push(path)
  }
  return changes
}

/**
 * Sorts changed paths into those to keep, those left out, and those to drop from the index because their
 * file has grown too large.
 */
async function sortPresent(store: PointStore, paths: readonly string[]) {
  const root = latin1Of(store.root)
  const kept: string[] = []
  const leftOut: LeftOut[] = []
  const large: string[] = []
  for (const path of paths) {
    const absolute = bytePath(`${root}/${path}`)
    const stat = ifPossible(() => lstatSync(absolute))
    const isFile = stat?.isFile() ?? false
    if (stat === undefined || (!isFile && !stat.isSymbolicLink()))
      leftOut.push({ path, why: 'no regular file' })
    else if (isFile && !succeeds(() => accessSync(absolute, constants.R_OK)))
      leftOut.push({ path, why: 'cannot be read' })
    else if (stat.size > maxUntrackedBytes) large.push(path)
    else kept.push(path)
  }
  const tracked = new Set(large.length === 0 ? [] : await trackedPaths(store.root, large, store.deadline))
  const untracked = large.filter((path) => !tracked.has(path))
  leftOut.push(...untracked.map((path) => ({ path, why: 'over 10 MiB and untracked' as const })))
  return { kept: [...kept, ...tracked], leftOut, dropped: untracked }
}

async function updateIndex(store: PointStore, kept: readonly string[], removed: readonly string[]) {
  // Removed first: a file may have become a directory. `--remove` would refuse a path below a link.
  if (removed.length > 0)
    await store.git(['update-index', '--force-remove', '-z', '--stdin'], { input: joinNul(removed) })
  if (kept.length > 0)
    await store.git(['update-index', '--add', '--remove', '--replace', '-z', '--stdin'], {
      input: joinNul(kept),
    })
}

/** Without a commit that resembles the index, `git status` would list every file. */
async function moveHead(store: PointStore, tree: string): Promise<void> {
  const commit = await store.git(['commit-tree', tree], { input: 'points' })
  await store.git(['update-ref', 'HEAD', commit.toString().trim()])
}
