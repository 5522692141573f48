import { errorCode, errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { allClaims, computeWorkspaceHash, type Register, targetKind } from '../../lease/index.ts'
import type { WorkspaceList, WorkspaceRow, WorkspaceView } from '../../ui/protocol.ts'
import { describeClaim, describeWaiter } from '../lock/describe.ts'
import { lanesOf } from './lanes.ts'
import { openKey, type UiParts } from './parts.ts'
import type { RequestQuery } from './request-query.ts'

/** A day: the longest stretch that the page shows at once. */
const usualStretchMs = 24 * 3_600_000

/**
 * Lists the workspaces and resources with claims, waiters or a history: first those in use. While a
 * PostgreSQL server cannot be reached, those in files are listed, and why the others are missing.
 */
export async function listWorkspaces(parts: UiParts): Promise<WorkspaceList> {
  const { registers, feed, store } = parts
  const { activity } = feed
  activity.invalidate()
  let problem: string | null = null
  const unlessAway = <Row>(rows: Promise<Row[]>): Promise<Row[]> =>
    rows.catch((error: unknown) => {
      if (!errorCode(error)?.startsWith('POSTGRES_')) throw error
      problem = errorMessage(error)
      return []
    })
  for (const { workspace } of await unlessAway(store.list()))
    if (workspace !== undefined) activity.learn(computeWorkspaceHash(workspace), workspace)
  const targetsOf = async (register: Register) => (await allClaims(register)).targets
  const found = await Promise.all(registers.map((register) => unlessAway(targetsOf(register))))
  const rows = new Map<string, WorkspaceRow>()
  for (const [index, targets] of found.entries())
    for (const { key, workspace, claims, waiters } of targets) {
      activity.learn(key, workspace)
      const counts = { claims: claims.length, waiters: waiters.length }
      const place = { kind: targetKind({ key, name: workspace }), store: storeAt(index) }
      rows.set(key, { key, name: workspace, ...place, ...counts, last_at: null })
    }
  await activity.refresh()
  for (const key of await activity.keys()) {
    const name = activity.nameOf(key)
    const free = { claims: 0, waiters: 0, last_at: null, store: storeAt(0) }
    if (!rows.has(key)) rows.set(key, { key, name, kind: targetKind({ key, name }), ...free })
  }
  const workspaces = [...rows.values()].map((row) => ({
    ...row,
    last_at: activity.lastAt(row.key) ?? feed.serverActivity?.lastAt(row.key) ?? null,
  }))
  const isInUse = ({ claims, waiters }: WorkspaceRow): number => Number(claims + waiters > 0)
  return {
    workspaces: workspaces.sort(
      (a, b) => isInUse(b) - isInUse(a) || (b.last_at ?? 0) - (a.last_at ?? 0) || (a.name < b.name ? -1 : 1),
    ),
    problem,
  }
}

const storeAt = (index: number): WorkspaceRow['store'] => (index === 0 ? 'files' : 'postgres')

/** One workspace or resource: its claims and waiters now, and what happened there. */
export async function viewWorkspace(parts: UiParts, query: RequestQuery): Promise<WorkspaceView> {
  const claims = await openKey(parts, query.need('key'))
  const { key, name, register } = claims
  const view = await claims.read()
  const { record, observation } = view
  const waiters = await claims.waiters(view)
  const to = query.count('to') ?? Math.round(observation.now.wall)
  const from = query.count('from') ?? to - usualStretchMs
  if (from > to) throw new StintError('ARG_ERROR', 'from must not be after to')
  const activities = await claims.activity.read()
  return {
    key,
    name,
    kind: targetKind({ key, name }),
    store: storeAt(parts.registers.indexOf(register)),
    from,
    to,
    recorded_from: activities[0]?.at ?? null,
    claims: record.claims.map((claim) => describeClaim(claim, observation)),
    waiters: waiters.map((waiter) => describeWaiter(waiter, observation)),
    lanes: lanesOf(activities, { claims: record.claims, waiters }, { from, to }),
    activities: activities.filter(({ at }) => at >= from && at <= to),
  }
}
