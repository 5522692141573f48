import { captureTree } from './capture-tree.ts'
import { type ChangeSet, changeSets, isInSet, type PresentState } from './change-sets.ts'
import { readPoints } from './point.ts'
import { type PointStore, withStore } from './store.ts'
import { changedAfter, type LastActs } from './take-point.ts'
import { diffTrees, type PathChange } from './tree-diff.ts'
import { readUserHead } from './user-repository.ts'

/** How long a command waits for another writer of the store, in milliseconds. */
export const commandWaitMs = 30_000

/** The change sets of a worktree, with the present as the end of what has none. */
export interface WorktreeChangeSets {
  store: PointStore
  /** Oldest first. */
  sets: ChangeSet[]
  present: PresentState
  /** As it was when the sets were read. */
  lastActs: LastActs
}

/** Reads the change sets of a worktree. `lastActs` has the sessions whose end was not seen. */
export async function readChangeSets(root: string, lastActs: LastActs): Promise<WorktreeChangeSets> {
  return await withStore(root, { waitMs: commandWaitMs }, async (store) => {
    const [{ tree, leftOut }, head] = await Promise.all([captureTree(store), readUserHead(root, store.facts)])
    const outside = await changedAfter(store, tree, lastActs)
    const present: PresentState = { at: Date.now(), tree, head, left_out: leftOut, outside }
    return { store, present, lastActs, sets: changeSets(readPoints(store), present) }
  })
}

/** Reads the paths of each change set that count for it. */
export async function readChanges(
  store: PointStore,
  sets: readonly ChangeSet[],
  options: { countLines?: boolean } = {},
): Promise<PathChange[][]> {
  const trees = sets.map(({ from, to }) => [from.tree, to.tree] as const)
  const diffs = await diffTrees(store, trees, options)
  return sets.map((set, index) => (diffs[index] ?? []).filter(({ path }) => isInSet(set, path)))
}

/** Is a path one of these files, or below one of these directories? All paths if there are none. */
export const isChosenPath = (path: string, chosen: readonly string[]): boolean =>
  chosen.length === 0 || chosen.some((each) => path === each || path.startsWith(`${each}/`))
