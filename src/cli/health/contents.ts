import { join } from 'node:path'
import type { DiskSpace } from '../../base/fs/measure-tree.ts'
import { hasEntries } from '../../base/fs/exists.ts'
import { shellWord, visibleText } from '../../base/text/escape.ts'
import { formatBytes } from '../../base/text/size.ts'
import { type AllClaims, allClaims, homeStore } from '../../lease/index.ts'
import type { StoreReport } from '../../points/index.ts'
import { type SessionState, sessionStates, type SessionSummary } from '../../session/index.ts'
import type { MeasuredEntry } from '../../sweep/index.ts'
import { formatSpace, plural } from '../text/format.ts'
import { type Check, fail, ok, warn } from './check.ts'

/** Reads all claims in a home. */
export const claimsIn = async (home: string): Promise<AllClaims> =>
  hasEntries(join(home, 'locks')) ? await allClaims(homeStore()) : { targets: [], unreadable: [] }

/** Counts the claims, and looks for unreadable records: in this home, or on the server without one. */
export function judgeLeases({ targets, unreadable }: AllClaims, home?: string): Check {
  const [broken] = unreadable
  if (broken === undefined)
    return ok('leases', `${plural(targets.flatMap(({ claims }) => claims).length, 'claim')} held`)
  const { key, reason } = broken
  const place = home === undefined ? `the row ${key} of stint.register` : join(home, 'locks', key)
  return fail(
    'leases',
    `${plural(unreadable.length, 'record')} cannot be read: ${key} (${visibleText(reason)})`,
    `Make sure that you can read ${visibleText(place)}. If it is damaged, the next claim there replaces it.`,
  )
}

type StateCounts = Record<SessionState, number>

export function countStates(sessions: readonly Pick<SessionSummary, 'state'>[]): StateCounts {
  const counts = Object.fromEntries(sessionStates.map((state) => [state, 0])) as StateCounts
  for (const { state } of sessions) counts[state] += 1
  return counts
}

/** One check for each state that needs attention, the worst first. */
export function judgeSessions(sessions: readonly Pick<SessionSummary, 'id' | 'state'>[]): Check[] {
  const idsIn = (state: SessionState): string[] =>
    sessions.filter((session) => session.state === state).map(({ id }) => id)
  const [damaged, locked, crashed] = [idsIn('damaged'), idsIn('locked'), idsIn('crashed')]
  const checks: Check[] = []
  if (damaged.length > 0)
    checks.push(
      fail(
        'sessions',
        `${damaged.length} damaged: ${listIds(damaged)}`,
        `stint sessions repair ${damaged[0]}`,
      ),
    )
  if (locked.length > 0)
    checks.push(
      warn(
        'sessions',
        `${locked.length} held by a process that cannot be seen from here: ${listIds(locked)}`,
        `End that process; if it is gone for good: stint sessions unlock ${locked[0]}`,
      ),
    )
  if (checks.length > 0) return checks
  // Nothing is lost and nothing has to be done: the next writer takes such a session over.
  const rest = crashed.length === 0 ? '' : `, ${crashed.length} of them left open by a process that died`
  return [ok('sessions', `${plural(sessions.length, 'session')}${rest}`)]
}

const namedIds = 3

const listIds = (ids: readonly string[]): string =>
  ids.slice(0, namedIds).join(', ') + (ids.length > namedIds ? ' and others' : '')

/** The sum of what dead runs have left. */
export interface Orphans extends DiskSpace {
  count: number
  files: number
  /** Whether counting took too long, so that the true size is at least this. */
  partial: boolean
}

export function sumOrphans(entries: readonly MeasuredEntry[]): Orphans {
  const orphans = entries.filter(({ orphan }) => orphan)
  const sum = (field: 'bytes' | 'disk_bytes' | 'files'): number =>
    orphans.reduce((total, entry) => total + entry[field], 0)
  return {
    count: orphans.length,
    bytes: sum('bytes'),
    disk_bytes: sum('disk_bytes'),
    files: sum('files'),
    partial: orphans.some(({ partial }) => partial),
  }
}

export function judgeOrphans({ count, partial, ...space }: Orphans): Check {
  if (count === 0) return ok('orphans', 'none')
  const size = `${partial ? 'at least ' : ''}${formatSpace(space)}`
  return warn('orphans', `dead runs have left ${plural(count, 'entry', 'entries')}, ${size}`, 'stint sweep')
}

/** Describes the restore points of all worktrees; loads the code for them only if there are some. */
export async function readPointStores(home: string): Promise<StoreReport[]> {
  if (!hasEntries(join(home, 'points'))) return []
  const { describeStore, listStores } = await import('../../points/index.ts')
  return listStores().map(describeStore)
}

/** One check for each store that needs attention, or one for all. */
export function judgePoints(stores: readonly StoreReport[]): Check[] {
  const problems = stores.flatMap(({ root, problem, hasUnfinishedUndo }): Check[] => {
    const path = visibleText(root)
    if (hasUnfinishedUndo) {
      const fix = `cd ${shellWord(root)} && stint undo --continue`
      return [warn('points', `an undo in ${path} was interrupted`, fix)]
    }
    if (problem === null) return []
    const fix = 'Run `stint sweep`; until then commit what you want to keep.'
    return [warn('points', `${path}: ${visibleText(problem)}`, fix)]
  })
  if (problems.length > 0) return problems
  const { points, bytes } = sumPoints(stores)
  if (points === 0) return [ok('points', 'no restore point yet')]
  const count = `${plural(points, 'restore point')} of ${plural(stores.length, 'worktree')}`
  return [ok('points', `${count}, ${formatBytes(bytes)}`)]
}

export const sumPoints = (stores: readonly StoreReport[]) => ({
  worktrees: stores.length,
  points: stores.reduce((sum, { points }) => sum + points, 0),
  bytes: stores.reduce((sum, { bytes }) => sum + bytes, 0),
})
