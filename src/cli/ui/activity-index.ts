import { runAsync } from '../../base/process/run-generator.ts'
import { type ClaimActivity, isClaimsKey, type Register, WorkspaceClaims } from '../../lease/index.ts'
import type { Incident } from '../../ui/protocol.ts'

/** Events in a workspace that a person may want to know at once. */
const incidentKinds = new Set<ClaimActivity['kind']>(['refusal', 'takeover', 'break'])
const incidentMs = 3_600_000
const maxIncidents = 50

/** The newest activities in all workspaces and resources of a register, and their names. */
export class ActivityIndex {
  readonly #register: Register
  #recent = new Map<string, ClaimActivity[]>()
  /** The names that were seen, by key: the record of a free workspace does not have its name. */
  readonly #names = new Map<string, string>()

  constructor(register: Register) {
    this.#register = register
  }

  /** Remembers the name of a key. */
  learn(key: string, name: string): void {
    this.#names.set(key, name)
  }

  /** The name of a key; undefined if no claim and no log has told it. */
  nameOf(key: string): string | undefined {
    return this.#names.get(key)
  }

  /** Reads the newest lines of all logs. */
  async refresh(): Promise<void> {
    const recent = new Map<string, ClaimActivity[]>()
    for (const key of await this.keys()) {
      const activities = await new WorkspaceClaims(this.#register, { key, name: '' }).activity.readRecent()
      recent.set(key, activities)
      const named = activities.findLast(({ workspace }) => workspace !== undefined)
      if (named?.workspace !== undefined && !this.#names.has(key)) this.learn(key, named.workspace)
    }
    this.#recent = recent
  }

  /** The keys of all workspaces and resources that have a record. */
  async keys(): Promise<string[]> {
    const keys = await runAsync(this.#register, this.#register.keys())
    return keys.filter((key) => isClaimsKey(key, this.#register))
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
    return [...this.#recent].flatMap(([key, activities]) =>
      activities
        .filter(({ kind, at }) => incidentKinds.has(kind) && now - at <= incidentMs)
        .map((activity) => ({ ...activity, key, name: this.nameOf(key) ?? key })),
    )
  }
}

/** The refusals and losses of the last hour in several registers, newest first. */
export const newestIncidents = (indexes: readonly (ActivityIndex | undefined)[], now: number): Incident[] =>
  indexes
    .flatMap((index) => index?.incidents(now) ?? [])
    .sort((a, b) => b.at - a.at)
    .slice(0, maxIncidents)
