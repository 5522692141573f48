import { signal } from '@preact/signals'
import { actRowOf, actOutcomeOf } from '../act-row.ts'
import type { ActPage, ActRow, AuditRecord, EventPage } from '../protocol.ts'
import { addressOf, getJson } from './api.ts'

/** Events are asked for in pages of this many, and the pages that were used last are kept. */
const pageSize = 100
const keptPages = 12
/** The most acts that the server sends for a page. */
const maxActs = 1000

export type TimelineEvent = EventPage['events'][number]

/** A row of the timeline: an event, an act or note, or how many acts are not shown here. */
export type TimelineRow = { event: TimelineEvent } | { act: ActRow } | { leftOut: number }

/**
 * Keeps the events and acts around the place in view, however long the session is. A group is a record and
 * the acts after it; the first one also has those before it.
 */
export class EventWindow {
  /** The last record that there is, and how many acts there are. */
  readonly last = signal(0)
  readonly acts = signal(0)
  /** The number of the newest audit line that was seen. */
  readonly lastLine = signal(0)
  /** Grows whenever rows have come or changed. */
  readonly version = signal(0)
  readonly error = signal<unknown>(undefined)
  readonly #session: string
  /** The newest use is last. */
  readonly #pages = new Map<number, PageOfGroups>()
  readonly #stop = new AbortController()

  constructor(session: string) {
    this.#session = session
  }

  /** Without a record, there is one group for acts. */
  get groups(): number {
    return Math.max(this.last.value, this.acts.value > 0 ? 1 : 0)
  }

  /** Whether all of it can be kept. */
  get isShort(): boolean {
    return this.groups <= pageSize * keptPages
  }

  /** How many rows there are: of a short session those that are known, of a long one all. */
  get rows(): number {
    if (!this.isShort) return this.last.value + this.acts.value
    let rows = this.groups
    for (const page of this.#pages.values()) rows += page.extraRows
    return rows
  }

  /** Asks how much there is. */
  async open(): Promise<void> {
    try {
      const [events, acts] = await Promise.all([
        this.#get<EventPage>('events', { limit: 1 }),
        this.#get<ActPage>('acts', { limit: 1 }),
      ])
      this.last.value = events.last
      this.acts.value = acts.total
      this.lastLine.value = acts.last
    } catch (error) {
      this.#failed(error)
    }
  }

  /** The rows of a group; one while they are on their way. */
  sizeOf(group: number): number {
    return Math.max(1, this.#groupAt(group)?.length ?? 1)
  }

  /** A row; undefined while it is on its way, and for a record that cannot be read. */
  rowAt(group: number, row: number): TimelineRow | undefined {
    return this.#groupAt(group)?.[row]
  }

  /** Whether the group's page has come. */
  isLoaded(group: number): boolean {
    return this.#pages.get(Math.floor(group / pageSize))?.isLoaded === true
  }

  /** The row of the record in its group. */
  rowOfRecord(group: number): number {
    return indexOfRecord(this.#groupAt(group) ?? [])
  }

  /** Sees to it that these groups come, and forgets pages that were not used for longest. */
  want(first: number, end: number): void {
    const [from, to] = this.isShort ? [0, this.groups] : [first, end]
    for (let page = Math.floor(from / pageSize); page * pageSize < to; page++) {
      const known = this.#pages.get(page)
      this.#pages.delete(page)
      this.#pages.set(page, known ?? new PageOfGroups())
      if (known === undefined) void this.#load(page)
    }
    for (const page of this.#pages.keys()) {
      if (this.#pages.size <= keptPages) break
      this.#pages.delete(page)
    }
  }

  /** Takes in an event, or an audit line, that was just written. */
  add(line: TimelineEvent | { audit: AuditRecord }): void {
    if ('audit' in line) this.#addLine(line.audit)
    else if (line.seq !== undefined && line.seq > this.last.peek()) {
      this.#pages.get(Math.floor((line.seq - 1) / pageSize))?.addEvent({ ...line, seq: line.seq })
      this.last.value = line.seq
    }
    this.version.value += 1
  }

  /** Ends what is under way. */
  close(): void {
    this.#stop.abort()
    this.#pages.clear()
  }

  #groupAt(group: number): readonly TimelineRow[] | undefined {
    return this.#pages.get(Math.floor(group / pageSize))?.groups.get(group)
  }

  #addLine(line: AuditRecord): void {
    if (line.seq <= this.lastLine.peek()) return
    this.lastLine.value = line.seq
    for (const page of line.type === 'outcome' ? this.#pages.values() : []) if (page.settle(line)) return
    // The outcome of an act that is not in view is not shown; an intent or a note comes last.
    if (line.type === 'outcome') return
    this.acts.value += 1
    const newest = this.#pages.get(Math.floor((this.groups - 1) / pageSize))
    if (newest?.isLoaded === true) newest.addActs([actRowOf(line)])
  }

  async #load(number: number): Promise<void> {
    const page = this.#pages.get(number)
    if (page === undefined) return
    const from = number * pageSize + 1
    try {
      let nextAt: number | undefined
      // The page asks for one event more: its acts end at the time of that one. The server may send fewer.
      for (let next = from; next <= from + pageSize;) {
        const limit = from + pageSize + 1 - next
        const { events, last } = await this.#get<EventPage>('events', { from: next, limit })
        for (const event of events) {
          if (event.seq === undefined) continue
          if (event.seq < from + pageSize) page.addEvent({ ...event, seq: event.seq })
          else nextAt = event.at
          next = event.seq + 1
        }
        if (events.length === 0 || next > last) break
      }
      const since = number === 0 ? 0 : page.beginsAt
      const until = nextAt === undefined ? undefined : nextAt - 1
      if (this.acts.peek() > 0 && since !== undefined) {
        const { acts, left_out } = await this.#get<ActPage>('acts', { since, until, limit: maxActs })
        page.addActs(acts, left_out)
      }
      page.isLoaded = true
      this.version.value += 1
    } catch (error) {
      this.#pages.delete(number)
      this.#failed(error)
    }
  }

  #get<T>(part: string, query: Record<string, string | number | undefined>): Promise<T> {
    const path = `/api/sessions/${encodeURIComponent(this.#session)}/${part}`
    return getJson<T>(addressOf(path, query), this.#stop.signal)
  }

  #failed(error: unknown): void {
    if (!this.#stop.signal.aborted) this.error.value = error
  }
}

const recordOf = (rows: readonly TimelineRow[]): TimelineEvent | undefined =>
  rows.flatMap((row) => ('event' in row ? row.event : []))[0]

/** Where the record stands in its group; at the end if there is none. */
function indexOfRecord(rows: readonly TimelineRow[]): number {
  const index = rows.findIndex((row) => 'event' in row)
  return index < 0 ? rows.length : index
}

/** The groups of a page, in order. */
class PageOfGroups {
  isLoaded = false
  readonly groups = new Map<number, TimelineRow[]>()

  /** How many rows there are besides one for each group. */
  get extraRows(): number {
    return [...this.groups.values()].reduce((sum, rows) => sum + rows.length - 1, 0)
  }

  /** The time of the first record. */
  get beginsAt(): number | undefined {
    const [first = []] = this.groups.values()
    return recordOf(first)?.at
  }

  addEvent(event: TimelineEvent & { seq: number }): void {
    const rows = this.groups.get(event.seq - 1) ?? []
    if (recordOf(rows) === undefined) rows.push({ event })
    this.groups.set(event.seq - 1, rows)
  }

  /** Puts each act after the last record before it. */
  addActs(acts: readonly ActRow[], leftOut = 0): void {
    if (this.groups.size === 0) this.groups.set(0, [])
    const groups = [...this.groups.values()]
    const known = new Set(groups.flat().flatMap((row) => ('act' in row ? (row.act.seq ?? []) : [])))
    const [first = []] = groups
    for (const act of acts) {
      if (act.seq !== null && known.has(act.seq)) continue
      const group = groups.findLast((rows) => (recordOf(rows)?.at ?? Number.POSITIVE_INFINITY) <= act.at)
      if (group !== undefined) group.push({ act })
      else first.splice(indexOfRecord(first), 0, { act })
    }
    if (leftOut > 0) first.unshift({ leftOut })
  }

  /** Gives an act its outcome; false if the act is not in this page. */
  settle(line: AuditRecord): boolean {
    for (const row of [...this.groups.values()].flat()) {
      if (!('act' in row) || row.act.act !== line.act) continue
      row.act.outcome ??= actOutcomeOf(line, row.act.at)
      return true
    }
    return false
  }
}
