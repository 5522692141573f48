import { StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { describeStatus } from '../../lease/commands/describe.ts'
import {
  allClaims,
  type ClaimActivity,
  claimsKeys,
  type LeaseStore,
  outsideName,
  WorkspaceClaims,
} from '../../lease/index.ts'
import type { RequestFields } from './endpoints.ts'
import type { Answers, NowView, WorkspaceRow, WorkspaceView } from './protocol.ts'

/** The claims in files, or those on a server. */
export interface StoredLeases {
  leases: LeaseStore
  store: WorkspaceRow['store']
}

/** A workspace or resource that has a record. */
interface Place {
  key: string
  name: string
  /** The newest of what happened there, oldest first. */
  activities: ClaimActivity[]
}

/** Reads the names and the newest activities of all workspaces and resources whose record can be read. */
export async function readPlaces({ leases }: StoredLeases): Promise<Place[]> {
  const places: Place[] = []
  for (const key of await claimsKeys(leases)) {
    const claims = await WorkspaceClaims.ofKey(leases, key)
    if (claims === undefined || isInternal(claims.name)) continue
    places.push({ key, name: placeName(claims.name), activities: await claims.activity.readRecent() })
  }
  return places
}

/** Leases that stint takes for itself: on a store of restore points, on a queue. */
export const isInternal = (name: string): boolean => /^(?:points|stint):/.test(name)

/** A workspace as people know it. */
const placeName = (name: string): string => (name === outsideName ? 'outside of repositories' : name)

/** Events in a workspace that a person may want to know at once. */
const incidentKinds = new Set<ClaimActivity['kind']>(['refusal', 'takeover', 'break'])
const incidentMs = 3_600_000

/** The refusals and losses of the last hour, newest first. */
export const incidentsIn = (places: readonly Place[], now: number): NowView['incidents'] =>
  places
    .flatMap(({ key, name, activities }) => activities.map((activity) => ({ ...activity, key, name })))
    .filter(({ kind, at }) => incidentKinds.has(kind) && now - at <= incidentMs)
    .sort((a, b) => b.at - a.at)

/** Lists the workspaces and resources with claims, waiters or a history: first those in use. */
export async function listWorkspaces(
  stores: readonly StoredLeases[],
): Promise<Answers['GET /api/workspaces']> {
  const rows = (await Promise.all(stores.map(rowsIn))).flat()
  const isInUse = ({ claims, waiters }: WorkspaceRow): number => Number(claims + waiters > 0)
  const byUse = (a: WorkspaceRow, b: WorkspaceRow): number =>
    isInUse(b) - isInUse(a) || (b.last_at ?? 0) - (a.last_at ?? 0) || (a.name < b.name ? -1 : 1)
  return { workspaces: rows.sort(byUse) }
}

async function rowsIn(stored: StoredLeases): Promise<WorkspaceRow[]> {
  const places = await readPlaces(stored)
  const { targets } = await allClaims(stored.leases)
  return places.map(({ key, name, activities }) => {
    const inUse = targets.filter((target) => target.key === key)
    // Outside of repositories, the paths of the claims tell more.
    const paths = inUse.map(({ title }) => title).join(' ')
    return {
      key,
      name: name === placeName(outsideName) && paths !== '' ? paths : name,
      store: stored.store,
      claims: inUse.flatMap(({ claims }) => claims).length,
      waiters: inUse.flatMap(({ waiters }) => waiters).length,
      last_at: activities.at(-1)?.at ?? null,
    }
  })
}

/** Opens the claims of a key that has a record. It is checked first: in files it becomes a part of a path. */
export async function openKey(
  stores: readonly StoredLeases[],
  key: string,
): Promise<{ claims: WorkspaceClaims; store: WorkspaceRow['store'] }> {
  for (const { leases, store } of stores) {
    const isKnown = (await claimsKeys(leases)).includes(key)
    const claims = isKnown ? await WorkspaceClaims.ofKey(leases, key) : undefined
    if (claims !== undefined) return { claims, store }
  }
  throw new StintError('ARG_ERROR', `${visibleText(key, 40)} is not the key of a workspace`)
}

/** A day: the longest time that the page shows at once. */
const usualMs = 24 * 3_600_000

/** One workspace or resource: its claims and waiters now, and what happened there. */
export async function viewWorkspace(
  stores: readonly StoredLeases[],
  query: RequestFields,
): Promise<WorkspaceView> {
  const { claims, store } = await openKey(stores, query.need('key'))
  const status = await claims.status()
  const to = Math.round(status.observation.now.wall)
  const from = to - (query.count('within') ?? usualMs)
  return {
    key: claims.key,
    name: placeName(claims.name),
    store,
    from,
    to,
    ...describeStatus(status),
    activities: (await claims.activity.read()).filter(({ at }) => at >= from && at <= to),
  }
}
