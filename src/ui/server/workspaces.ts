import { errorCode, errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { visibleText } from '../../base/text/escape.ts'
import { describeClaim, describeWaiter } from '../../lease/commands/describe.ts'
import {
  ActivityLog,
  allClaims,
  type ClaimActivity,
  type ClaimedTarget,
  claimsKeys,
  type LeaseStore,
  outsideName,
  WorkspaceClaims,
} from '../../lease/index.ts'
import type { Incident, WorkspaceList, WorkspaceRow, WorkspaceView } from '../protocol.ts'
import type { RequestFields } from './endpoints.ts'

/** Events in a workspace that a person may want to know at once. */
const incidentKinds = new Set<ClaimActivity['kind']>(['refusal', 'takeover', 'break'])
const incidentMs = 3_600_000

/** The workspaces and resources of one store: their names, and the newest activities in each. */
export class Places {
  readonly leases: LeaseStore
  readonly store: WorkspaceRow['store']
  #recent = new Map<string, ClaimActivity[]>()
  readonly #names = new Map<string, string>()

  constructor(leases: LeaseStore, store: WorkspaceRow['store']) {
    this.leases = leases
    this.store = store
  }

  /** The keys of all workspaces and resources that have a record. */
  keys(): Promise<string[]> {
    return claimsKeys(this.leases)
  }

  /** Reads the newest lines of all logs, and the names of new keys. */
  async refresh(): Promise<void> {
    const recent = new Map<string, ClaimActivity[]>()
    for (const key of await this.keys()) {
      recent.set(key, await new ActivityLog(this.leases.activity, key).readRecent())
      const name = this.#names.get(key) ?? (await WorkspaceClaims.ofKey(this.leases, key))?.name
      if (name !== undefined) this.#names.set(key, name)
    }
    this.#recent = recent
  }

  /** When a session last got, lost or was refused a claim; 0 if no log names it. */
  lastActivityOf(sessionId: string): number {
    const times = [...this.#recent.values()].map(
      (activities) => activities.findLast(({ session_id }) => session_id === sessionId)?.at ?? 0,
    )
    return Math.max(0, ...times)
  }

  /** The refusals and losses of the last hour. */
  incidents(now: number): Incident[] {
    return [...this.#recent].flatMap(([key, activities]) => {
      const name = this.#names.get(key) ?? key
      if (isInternal(name)) return []
      return activities
        .filter(({ kind, at }) => incidentKinds.has(kind) && now - at <= incidentMs)
        .map((activity) => ({ ...activity, key, name: placeName(name) }))
    })
  }

  /** A row for each workspace and resource whose record can be read. */
  async rows(): Promise<WorkspaceRow[]> {
    await this.refresh()
    const { targets } = await allClaims(this.leases)
    return [...this.#recent].flatMap(([key, activities]) => {
      const name = this.#names.get(key)
      if (name === undefined || isInternal(name)) return []
      const held = targets.filter((target) => target.key === key)
      const count = (list: (target: ClaimedTarget) => readonly unknown[]): number => held.flatMap(list).length
      // Outside of repositories, the paths of the claims tell more.
      const paths = name === outsideName ? held.map(({ workspace }) => workspace).join(' ') : ''
      return {
        key,
        name: paths === '' ? placeName(name) : paths,
        store: this.store,
        claims: count(({ claims }) => claims),
        waiters: count(({ waiters }) => waiters),
        last_at: activities.at(-1)?.at ?? null,
      }
    })
  }
}

/** Leases that stint takes for itself: on a settings file, on a store of restore points, on a queue. */
export const isInternal = (name: string): boolean => /^(?:file|points|stint):/.test(name)

/** A workspace as people know it. */
const placeName = (name: string): string => (name === outsideName ? 'outside of repositories' : name)

/** Opens the claims of a key that has a record. It is checked first: in files it becomes a part of a path. */
export async function openKey(places: readonly Places[], key: string): Promise<WorkspaceClaims> {
  for (const { leases } of places) {
    const isKnown = (await claimsKeys(leases)).includes(key)
    const claims = isKnown ? await WorkspaceClaims.ofKey(leases, key) : undefined
    if (claims !== undefined) return claims
  }
  throw new StintError('ARG_ERROR', `${visibleText(key, 40)} is not the key of a workspace`)
}

/**
 * Lists the workspaces and resources with claims, waiters or a history: first those in use. While a
 * PostgreSQL server cannot be reached, those in files are listed, and why the others are missing.
 */
export async function listWorkspaces(places: readonly Places[]): Promise<WorkspaceList> {
  let problem: string | null = null
  const rows = await Promise.all(
    places.map(async (place) => {
      try {
        return await place.rows()
      } catch (error) {
        if (!errorCode(error)?.startsWith('POSTGRES_')) throw error
        problem = errorMessage(error)
        return []
      }
    }),
  )
  const isInUse = ({ claims, waiters }: WorkspaceRow): number => Number(claims + waiters > 0)
  const byUse = (a: WorkspaceRow, b: WorkspaceRow): number =>
    isInUse(b) - isInUse(a) || (b.last_at ?? 0) - (a.last_at ?? 0) || (a.name < b.name ? -1 : 1)
  return { workspaces: rows.flat().sort(byUse), problem }
}

/** A day: the longest stretch that the page shows at once. */
const usualStretchMs = 24 * 3_600_000

/** One workspace or resource: its claims and waiters now, and what happened there. */
export async function viewWorkspace(places: readonly Places[], query: RequestFields): Promise<WorkspaceView> {
  const claims = await openKey(places, query.need('key'))
  const view = await claims.read()
  const { observation } = view
  const waiters = await claims.waiters(view)
  const to = Math.round(observation.now.wall)
  const from = query.count('from') ?? to - usualStretchMs
  return {
    key: claims.key,
    name: placeName(claims.name),
    store: places.find(({ leases }) => leases === claims.store)?.store ?? 'files',
    from,
    to,
    claims: claims.inForce(view).map((claim) => describeClaim(claim, observation)),
    waiters: waiters.map((waiter) => describeWaiter(waiter, observation)),
    activities: (await claims.activity.read()).filter(({ at }) => at >= from && at <= to),
  }
}
