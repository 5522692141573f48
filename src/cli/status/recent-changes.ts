import { join } from 'node:path'
import { hasEntries } from '../../base/fs/exists.ts'
import type { ChangeSet, PointStore } from '../../points/index.ts'

/** A change set of any worktree. */
export interface RecentChange {
  id: string
  workspace: string
  session_id: string | null
  agent: string | null
  words: string | null
  ended_at: number
  /** How many files it changed; null if git did not answer. */
  files: number | null
  undone: ChangeSet['undone']
}

const shownChanges = 3

/** The newest change sets that have ended, newest first. Reads only: a turn that goes on has no end yet. */
export async function gatherRecentChanges(home: string): Promise<RecentChange[]> {
  if (!hasEntries(join(home, 'points'))) return []
  const { changeSets, listStores, readPoints } = await import('../../points/index.ts')
  const newest = listStores()
    .flatMap((store) => changeSets(readPoints(store)).map((set) => ({ store, set })))
    .filter(({ set }) => set.kind === 'turn' && set.from.tree !== set.to.tree)
    .sort((a, b) => b.set.to.at - a.set.to.at)
    .slice(0, shownChanges)
  return await Promise.all(newest.map(describeChange))
}

async function describeChange({ store, set }: { store: PointStore; set: ChangeSet }): Promise<RecentChange> {
  const { readChanges } = await import('../../points/index.ts')
  const [changes] = await readChanges(store, [set]).catch(() => [undefined])
  return {
    id: set.id,
    workspace: store.root,
    session_id: set.session_id ?? null,
    agent: set.agent ?? null,
    words: set.words ?? null,
    ended_at: set.to.at,
    files: changes?.length ?? null,
    undone: set.undone,
  }
}
