import { signal } from '@preact/signals'
import type { ActPage, ActRow, EventPage } from '../protocol.ts'
import { addressOf, getJson } from './api.ts'

/** Events are asked for in pages of this many, and the pages that were used last are kept. */
const pageSize = 100
const keptPages = 12

/** Keeps the events around the place in view, however long the session is. Row 0 is the first record. */
export class EventWindow {
  /** The first and the last record that there is. */
  readonly first = signal(1)
  readonly last = signal(0)
  /** Grows whenever events have come. */
  readonly version = signal(0)
  readonly error = signal<unknown>(undefined)
  readonly #session: string
  /** The newest use is last. */
  readonly #pages = new Map<number, EventsOfPage>()
  readonly #stop = new AbortController()

  constructor(session: string) {
    this.#session = session
  }

  get rows(): number {
    return Math.max(0, this.last.value - this.first.value + 1)
  }

  /** Asks for the newest events. */
  async open(): Promise<void> {
    try {
      const page = await this.#get(addressOf(this.#path('events'), { limit: 1 }))
      this.first.value = Math.max(1, page.first)
      this.last.value = page.last
    } catch (error) {
      this.#failed(error)
    }
  }

  /** The event in a row, with its acts; undefined while it is on its way. */
  rowAt(row: number): TimelineRow | undefined {
    return this.#pages.get(Math.floor(row / pageSize))?.rows.get(this.first.peek() + row)
  }

  /** Whether the row's page has come: a record that is not in it cannot be shown. */
  isLoaded(row: number): boolean {
    return this.#pages.get(Math.floor(row / pageSize))?.isLoaded === true
  }

  /** Sees to it that these rows come, and forgets pages that were not used for longest. */
  want(firstRow: number, endRow: number): void {
    for (let page = Math.floor(firstRow / pageSize); page * pageSize < endRow; page++) {
      const known = this.#pages.get(page)
      this.#pages.delete(page)
      this.#pages.set(page, known ?? new EventsOfPage())
      if (known === undefined) void this.#load(page)
    }
    for (const page of this.#pages.keys()) {
      if (this.#pages.size <= keptPages) break
      this.#pages.delete(page)
    }
  }

  /** Takes in an event that was just written. */
  add(event: TimelineEvent): void {
    if (event.seq === undefined || event.seq <= this.last.peek()) return
    const row = event.seq - this.first.peek()
    const page = this.#pages.get(Math.floor(row / pageSize))
    page?.rows.set(event.seq, { event, acts: [] })
    this.last.value = event.seq
    this.version.value += 1
  }

  /** Ends what is under way. */
  close(): void {
    this.#stop.abort()
    this.#pages.clear()
  }

  async #load(number: number): Promise<void> {
    const page = this.#pages.get(number)
    if (page === undefined) return
    const from = this.first.peek() + number * pageSize
    try {
      // The server ends a page early that would be too large.
      for (let next = from; next < from + pageSize;) {
        const address = addressOf(this.#path('events'), { from: next, limit: from + pageSize - next })
        const { events, last } = await this.#get(address)
        for (const event of events) if (event.seq !== undefined) page.rows.set(event.seq, { event, acts: [] })
        this.last.value = Math.max(this.last.peek(), last)
        const newest = events.at(-1)?.seq
        if (newest === undefined || newest >= last) break
        next = newest + 1
      }
      page.isLoaded = true
      this.version.value += 1
      await this.#loadActs(page)
    } catch (error) {
      this.#pages.delete(number)
      this.#failed(error)
    }
  }

  /** An act stands beside the last event before it. */
  async #loadActs(page: EventsOfPage): Promise<void> {
    const rows = [...page.rows.values()]
    const [first, last] = [rows[0], rows.at(-1)]
    if (first === undefined || last === undefined) return
    const isNewest = last.event.seq === this.last.peek()
    const until = isNewest ? undefined : last.event.at
    const address = addressOf(this.#path('acts'), { since: first.event.at, until, limit: 500 })
    const { acts } = await getJson<ActPage>(address, this.#stop.signal)
    for (const act of acts) rows.findLast(({ event }) => event.at <= act.at)?.acts.push(act)
    if (acts.length > 0) this.version.value += 1
  }

  #get(address: string): Promise<EventPage> {
    return getJson<EventPage>(address, this.#stop.signal)
  }

  #path(part: string): string {
    return `/api/sessions/${encodeURIComponent(this.#session)}/${part}`
  }

  #failed(error: unknown): void {
    if (!this.#stop.signal.aborted) this.error.value = error
  }
}

export type TimelineEvent = EventPage['events'][number]

export interface TimelineRow {
  event: TimelineEvent
  acts: ActRow[]
}

class EventsOfPage {
  isLoaded = false
  /** By the number of the record. */
  readonly rows = new Map<number, TimelineRow>()
}
