import { join } from 'node:path'
import { hasEntries } from '../../base/fs/exists.ts'
import { shellWord, visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import type { StoreReport } from '../../points/index.ts'
import { plural } from '../text/format.ts'
import { type Check, ok, warn } from './check.ts'

/** Describes the restore points of all worktrees; loads the code for them only if there are some. */
export async function readPointStores(home: string): Promise<StoreReport[]> {
  if (!hasEntries(join(home, 'points'))) return []
  const { describeStore, listStores } = await import('../../points/index.ts')
  return listStores().map(describeStore)
}

/** One check for each store that needs attention, or one for all. */
export function judgePoints(stores: readonly StoreReport[]): Check[] {
  const found = stores.flatMap(({ root, problem, hasUnfinishedUndo }) => {
    const at = visibleText(root)
    if (hasUnfinishedUndo)
      return [
        warn('points', `an undo in ${at} was interrupted`, `cd ${shellWord(root)} && stint undo --continue`),
      ]
    if (problem === null) return []
    return [
      warn(
        'points',
        `${at}: ${visibleText(problem)}`,
        'Run `stint sweep`; until then commit what you want to keep.',
      ),
    ]
  })
  if (found.length > 0) return found
  const { points, bytes } = sumPoints(stores)
  return [
    ok(
      'points',
      `${plural(points, 'restore point')} of ${plural(stores.length, 'worktree')}, ${formatBytes(bytes)}`,
    ),
  ]
}

export const sumPoints = (stores: readonly StoreReport[]) => ({
  worktrees: stores.length,
  points: stores.reduce((sum, { points }) => sum + points, 0),
  bytes: stores.reduce((sum, { bytes }) => sum + bytes, 0),
})
