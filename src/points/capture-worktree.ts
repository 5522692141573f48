import { accessSync, constants, lstatSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ifPossible, succeeds } from '../base/errors/if-possible.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { replaceFile } from '../base/fs/atomic-file.ts'
import { realPathOf } from '../base/fs/canonical-path.ts'
import { stintHome } from '../base/fs/home.ts'
import { isWithin, utf8Of } from '../base/fs/paths.ts'
import { makePrivateDirectories } from '../base/fs/private-file.ts'
import { readSmallFile } from '../base/fs/regular-file.ts'
import { splitNul } from './git.ts'
import { type Point, readPoints } from './point.ts'
import type { PointStore } from './store.ts'
import { updateIndex } from './store-index.ts'
import { diffTrees } from './tree-diff.ts'
import { maxFiles, readUserHead, trackedPaths } from './user-repository.ts'

/** The state of a worktree at one moment; its contents are a tree of the store. */
export type WorktreeState = Pick<Point, 'at' | 'tree' | 'head' | 'left_out' | 'outside'>

/** When each session whose end was not seen last did something, in milliseconds since the epoch. */
export type LastActs = Readonly<Record<string, number>>

/** Untracked files over this size are not kept. */
const maxUntrackedBytes = 10 << 20

/**
 * Brings the index of a store up to date with the disk, and writes its tree. The caller holds the lock of the
 * store. Costs one `git status`, and two short calls more if something has changed.
 */
export async function captureWorktree(store: PointStore, lastActs: LastActs = {}): Promise<WorktreeState> {
  const [status, head, ignored] = await Promise.all([
    store.git(['status', '--porcelain', '-z', '--no-renames']),
    readUserHead(store),
    findKeptIgnored(store),
  ])
  const { present, deleted, repositories, aheadOfHead } = parseStatus(status)
  if (present.length > maxFiles)
    throw new StintError('POINTS_OFF', `${store.root} has over ${maxFiles} files that git does not track`)
  // With stint's own home in the worktree, a point would have to contain itself.
  const home = realPathOf(stintHome())
  const paths = [...present, ...ignored].filter((path) => !isWithin(join(store.root, utf8Of(path)), home))
  const { kept, leftOut, tooLarge } = await sortPresent(store, paths)
  const removed = [...deleted, ...tooLarge]
  const lastTree = readSmallFile(store.file('tree'))
  const isUnchanged = lastTree !== undefined && kept.length === 0 && removed.length === 0
  const tree = isUnchanged
    ? lastTree
    : await writeTree(store, kept, removed, lastTree === undefined || aheadOfHead > 1000)
  return {
    at: Date.now(),
    tree,
    head,
    left_out: [...repositories.map((path) => ({ path, why: 'another repository' })), ...leftOut],
    outside: await changedAfter(store, tree, lastActs),
  }
}

/** Parses `XY path` of `git status`: how the index differs from HEAD, and the disk from the index. */
function parseStatus(output: Buffer) {
  const changes = { present: [] as string[], deleted: [] as string[], repositories: [] as string[] }
  let aheadOfHead = 0
  for (const entry of splitNul(output)) {
    const [inIndex, onDisk] = entry
    const path = entry.slice(3)
    if (inIndex !== ' ' && inIndex !== '?') aheadOfHead += 1
    if (onDisk === 'D') changes.deleted.push(path)
    else if (path.endsWith('/')) changes.repositories.push(path)
    else if (onDisk !== ' ') changes.present.push(path)
  }
  return { ...changes, aheadOfHead }
}

/** Sorts changed paths into those to keep, those left out, and of these the ones over 10 MiB. */
async function sortPresent(store: PointStore, paths: readonly string[]) {
  const kept: string[] = []
  const large: string[] = []
  const leftOut: Point['left_out'] = []
  for (const path of paths) {
    const file = store.pathOf(path)
    const stat = ifPossible(() => lstatSync(file))
    if (stat?.isSymbolicLink()) kept.push(path)
    else if (!stat?.isFile()) leftOut.push({ path, why: 'no regular file' })
    else if (!succeeds(() => accessSync(file, constants.R_OK))) leftOut.push({ path, why: 'cannot be read' })
    else if (stat.size > maxUntrackedBytes) large.push(path)
    else kept.push(path)
  }
  const tracked = new Set(large.length === 0 ? [] : await trackedPaths(store.root, large, store.deadline))
  const tooLarge = large.filter((path) => !tracked.has(path))
  leftOut.push(...tooLarge.map((path) => ({ path, why: 'over 10 MiB and untracked' })))
  return { kept: [...kept, ...tracked], leftOut, tooLarge }
}

async function writeTree(
  store: PointStore,
  kept: readonly string[],
  removed: readonly string[],
  movesHead: boolean,
): Promise<string> {
  ifPossible(() => unlinkSync(store.file('tree')))
  await updateIndex(store, kept, removed)
  const tree = (await store.git(['write-tree'])).toString().trim()
  // Refs keep the trees when the sweep repacks the store.
  writeFileSync(store.file(`git/refs/trees/${tree}`), `${tree}\n`, { mode: 0o600 })
  if (movesHead) {
    // Without a commit that resembles the index, `git status` would list every file.
    const commit = await store.git(['commit-tree', tree], { input: 'points' })
    writeFileSync(store.file('git/refs/heads/points'), commit, { mode: 0o600 })
  }
  writeFileSync(store.file('tree'), tree, { mode: 0o600 })
  return tree
}

/**
 * The paths that differ from the last point and were changed after the last act of each session. A file that
 * is gone was removed at the latest when its directory last changed.
 */
async function changedAfter(
  store: PointStore,
  tree: string,
  lastActs: LastActs,
): Promise<Record<string, string[]> | undefined> {
  if (Object.keys(lastActs).length === 0) return undefined
  const lastTree = readPoints(store).at(-1)?.tree ?? tree
  const [changes = []] = await diffTrees(store, [[lastTree, tree]])
  const changeTime = (path: string): number =>
    ifPossible(() => lstatSync(store.pathOf(path)).ctimeMs) ?? (path === '.' ? 0 : changeTime(dirname(path)))
  const times = changes.map(({ path }) => ({ path, changedAt: changeTime(path) }))
  const pathsAfter = (actedAt: number): string[] =>
    times.filter(({ changedAt }) => changedAt > actedAt).map(({ path }) => path)
  return Object.fromEntries(
    Object.entries(lastActs).map(([sessionId, actedAt]) => [sessionId, pathsAfter(actedAt)]),
  )
}

/** Larger ignored files are not kept, whatever their name is. */
const maxIgnoredBytes = 1 << 20

/** The file with the patterns of ignored files that points keep all the same, one a line. */
export const keptIgnoredFile = (): string => join(stintHome(), 'points/keep-ignored')

export const readKeptIgnored = (): string[] =>
  (readSmallFile(keptIgnoredFile()) ?? '').split('\n').filter((pattern) => pattern !== '')

/** Sets the patterns for all worktrees, from the next point on. They contain no line break. */
export function setKeptIgnored(patterns: readonly string[]): void {
  makePrivateDirectories(dirname(keptIgnoredFile()))
  if (patterns.length === 0) rmSync(keptIgnoredFile(), { force: true })
  else replaceFile(keptIgnoredFile(), patterns.map((pattern) => `${pattern}\n`).join(''))
}

/**
 * Finds ignored files that the user wants to be kept and the index does not have yet. Directories that are
 * ignored as a whole, such as `node_modules`, are not entered.
 */
async function findKeptIgnored(store: PointStore): Promise<string[]> {
  const patterns = readKeptIgnored().map((pattern) => `:(glob)**/${pattern.replace(/^\//, '')}`)
  if (patterns.length === 0) return []
  const args = ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory', '--']
  const output = await store.git([...args, ...patterns], { env: { GIT_LITERAL_PATHSPECS: '0' } })
  return splitNul(output).filter((path) => {
    const stat = ifPossible(() => lstatSync(store.pathOf(path)))
    return stat?.isFile() && stat.size <= maxIgnoredBytes
  })
}
