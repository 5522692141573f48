import {
  type Claim,
  type ClaimsRecord,
  defaultTtlMs,
  homeStore,
  isInForce,
  type Observation,
  transcriptTime,
  WorkspaceClaims,
} from '../lease/index.ts'
import { captureWorktree, type LastActs } from './capture-worktree.ts'
import { type ChangeSet, changeSets, isInSet } from './change-sets.ts'
import { readPoints } from './point.ts'
import { type PointStore, withStore } from './store.ts'
import { diffTrees, type PathChange } from './tree-diff.ts'

/** The change sets of a worktree, with the present as the end of what has none. */
export interface WorktreeChangeSets {
  store: PointStore
  /** Oldest first. */
  sets: ChangeSet[]
  presentTree: string
  /** As it was when the sets were read. */
  lastActs: LastActs
}

/** How long a command waits for another writer of the store, in milliseconds. */
export const commandWaitMs = 30_000

/** Reads the change sets of a worktree. */
export async function readChangeSets(root: string, knownActs?: LastActs): Promise<WorktreeChangeSets> {
  const lastActs = knownActs ?? (await readLastActs(root))
  return await withStore(root, { waitMs: commandWaitMs }, async (store) => {
    const present = await captureWorktree(store, lastActs)
    return { store, sets: changeSets(readPoints(store), present), presentTree: present.tree, lastActs }
  })
}

async function readLastActs(root: string): Promise<LastActs> {
  const { record, observation } = await readClaims(root)
  return lastActsOf(record, observation)
}

export const readClaims = (root: string) => WorkspaceClaims.open(homeStore(), { workspace: root }).read()

/** The sessions whose claim ended without a release (Esc, a kill), and when each last did something. */
export const lastActsOf = ({ claims }: ClaimsRecord, observation: Observation): LastActs =>
  Object.fromEntries(
    claims
      .filter((claim) => !isInForce(claim, observation))
      .map((claim) => [claim.session_id, lastActOf(claim)]),
  )

/** Without a transcript, the last renewal: most claims last for five minutes after it. */
const lastActOf = ({ origin, acquired_at, until_wall }: Claim): number =>
  transcriptTime(origin) ?? Math.max(acquired_at, until_wall - defaultTtlMs)

/** Does this session work within the claim of another one? Its changes count for that one. */
export const isNested = ({ claims }: ClaimsRecord, sessionId: string): boolean =>
  claims
    .find(({ session_id }) => session_id === sessionId)
    ?.ancestors?.some((ancestor) => claims.some(({ session_id }) => session_id === ancestor)) ?? false

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
