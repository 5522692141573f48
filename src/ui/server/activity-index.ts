import {
  ActivityLog,
  type ClaimActivity,
  claimsKeys,
  type LeaseStore,
  WorkspaceClaims,
} from '../../lease/index.ts'
import type { Incident } from '../protocol.ts'
import { isInternal, placeName } from './workspaces.ts'

/** Events in a workspace that a person may want to know at once. */
const incidentKinds = new Set<ClaimActivity['kind']>(['refusal', 'takeover', 'break'])
const incidentMs = 3_600_000
const maxIncidents = 50

/** The newest activities in all workspaces and resources of a store, and their names. */
export class ActivityIndex {
  readonly #leases: LeaseStore
  #recent = new Map<string, ClaimActivity[]>()
  /** The name of each key, from its record. */
  readonly #names = new Map<string, string>()

  constructor(leases: LeaseStore) {
    this.#leases = leases
  }

  /** The name of a key; undefined before the first refresh, and if its record is damaged. */
  nameOf(key: string): string | undefined {
    return this.#names.get(key)
  }

  /** Reads the newest lines of all logs. */
  async refresh(): Promise<void> {
    const recent = new Map<string, ClaimActivity[]>()
    for (const key of await this.keys()) {
      const activities = await new ActivityLog(this.#leases.activity, key).readRecent()
      recent.set(key, activities)
      if (!this.#names.has(key)) await this.#learn(key)
    }
    this.#recent = recent
  }

  async #learn(key: string): Promise<void> {
    const claims = await WorkspaceClaims.ofKey(this.#leases, key)
    if (claims !== undefined) this.#names.set(key, claims.name)
  }

  /** The keys of all workspaces and resources that have a record. */
  keys(): Promise<string[]> {
    return claimsKeys(this.#leases)
  }

  /** When a workspace or resource was last active; undefined if its log is empty. */
  lastAt(key: string): number | undefined {
    return this.#recent.get(key)?.at(-1)?.at
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
    const places = [...this.#recent].filter(([key]) => !isInternal(this.nameOf(key) ?? ''))
    return places.flatMap(([key, activities]) =>
      activities
        .filter(({ kind, at }) => incidentKinds.has(kind) && now - at <= incidentMs)
        .map((activity) => ({ ...activity, key, name: placeName(this.nameOf(key) ?? key) })),
    )
  }
}

/** The refusals and losses of the last hour in several stores, newest first. */
export const newestIncidents = (indexes: readonly (ActivityIndex | undefined)[], now: number): Incident[] =>
  indexes
    .flatMap((index) => index?.incidents(now) ?? [])
    .sort((a, b) => b.at - a.at)
    .slice(0, maxIncidents)
