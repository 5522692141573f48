import { errorCode, errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import {
  allClaims,
  type ClaimedTarget,
  type LeaseStore,
  outsideName,
  WorkspaceClaims,
} from '../../lease/index.ts'
import type { BuiltInStore } from '../../session/index.ts'
import type { WorkspaceList, WorkspaceRow, WorkspaceView } from '../protocol.ts'
import { describeClaim, describeWaiter } from '../../lease/commands/describe.ts'
import type { ActivityIndex } from './activity-index.ts'
import type { NowFeed } from './now-feed.ts'
import type { RequestFields } from './request-fields.ts'

/** What all endpoints use. */
export interface UiParts {
  /** The leases in the home, where hooks keep their claims, then those on a server if one is named. */
  leases: readonly LeaseStore[]
  store: BuiltInStore
  feed: NowFeed
}

/** Opens the claims of a key that has a record. It is checked first: in files it becomes a part of a path. */
export async function openKey({ leases, feed }: UiParts, key: string): Promise<WorkspaceClaims> {
  for (const [index, store] of leases.entries()) {
    const known = (await indexes(feed)[index]?.keys()) ?? []
    const claims = known.includes(key) ? await WorkspaceClaims.ofKey(store, key) : undefined
    if (claims !== undefined) return claims
  }
  throw new StintError('ARG_ERROR', `${visibleText(key, 40)} is not the key of a workspace`)
}

const indexes = ({ activity, serverActivity }: NowFeed): (ActivityIndex | undefined)[] => [
  activity,
  serverActivity,
]

/** Leases that stint takes for itself: on a settings file, on a store of restore points, on a queue. */
export const isInternal = (name: string): boolean => /^(?:file|points|stint):/.test(name)

/** A workspace as people know it. */
export const placeName = (name: string): string => (name === outsideName ? 'outside of repositories' : name)

/**
 * Lists the workspaces and resources with claims, waiters or a history: first those in use. While a
 * PostgreSQL server cannot be reached, those in files are listed, and why the others are missing.
 */
export async function listWorkspaces({ leases, feed }: UiParts): Promise<WorkspaceList> {
  let problem: string | null = null
  const rows = await Promise.all(
    leases.map(async (store, index) => {
      try {
        return await rowsOf(store, indexes(feed)[index], index)
      } catch (error) {
        if (!errorCode(error)?.startsWith('POSTGRES_')) throw error
        problem = errorMessage(error)
        return []
      }
    }),
  )
  const isInUse = ({ claims, waiters }: WorkspaceRow): number => Number(claims + waiters > 0)
  return {
    workspaces: rows
      .flat()
      .sort(
        (a, b) =>
          isInUse(b) - isInUse(a) || (b.last_at ?? 0) - (a.last_at ?? 0) || (a.name < b.name ? -1 : 1),
      ),
    problem,
  }
}

/** A row for each key of a store. */
async function rowsOf(
  store: LeaseStore,
  activity: ActivityIndex | undefined,
  index: number,
): Promise<WorkspaceRow[]> {
  await activity?.refresh()
  const { targets } = await allClaims(store)
  return ((await activity?.keys()) ?? []).flatMap((key) => {
    const name = activity?.nameOf(key)
    if (name === undefined || isInternal(name)) return []
    const held = targets.filter((target) => target.key === key)
    const count = (of: (target: ClaimedTarget) => readonly unknown[]): number => held.flatMap(of).length
    return {
      key,
      // Outside of repositories, the paths of the claims tell more.
      name:
        name === outsideName && held.length > 0
          ? held.map((each) => each.workspace).join(' ')
          : placeName(name),
      store: storeAt(index),
      claims: count(({ claims }) => claims),
      waiters: count(({ waiters }) => waiters),
      last_at: activity?.lastAt(key) ?? null,
    }
  })
}

const storeAt = (index: number): WorkspaceRow['store'] => (index === 0 ? 'files' : 'postgres')

/** A day: the longest stretch that the page shows at once. */
const usualStretchMs = 24 * 3_600_000

/** One workspace or resource: its claims and waiters now, and what happened there. */
export async function viewWorkspace(parts: UiParts, query: RequestFields): Promise<WorkspaceView> {
  const claims = await openKey(parts, query.need('key'))
  const view = await claims.read()
  const { observation } = view
  const waiters = await claims.waiters(view)
  const to = Math.round(observation.now.wall)
  const from = query.count('from') ?? to - usualStretchMs
  return {
    key: claims.key,
    name: placeName(claims.name),
    store: storeAt(parts.leases.indexOf(claims.store)),
    from,
    to,
    claims: claims.inForce(view).map((claim) => describeClaim(claim, observation)),
    waiters: waiters.map((waiter) => describeWaiter(waiter, observation)),
    activities: (await claims.activity.read()).filter(({ at }) => at >= from && at <= to),
  }
}
