import { ifPossible } from '../../base/errors/if-possible.ts'
import { systemClock } from '../../base/process/clock.ts'
import { homeStore, type LeaseStore } from '../../lease/index.ts'
import { promptedSessions } from '../../hooks/index.ts'
import { listSessionsIn } from '../../session/index.ts'
import type { NowView } from '../protocol.ts'
import type { ServerContents } from '../../cli/health/postgres.ts'
import { describeLook, freshSources, lookAround } from '../../cli/status/gather.ts'
import { ActivityIndex, newestIncidents } from './activity-index.ts'
import { maxTiles, nowView } from './now-view.ts'
import { isInternal } from './workspaces.ts'

/** How often the server looks while a page is open, in milliseconds. */
const lookMs = 2000
/** The temp directory and the hooks of agents change rarely, and are slow to read, in milliseconds. */
const slowPartsMs = 30_000

/** The state of everything, for the pages that are open. While no page is open it does nothing. */
export class NowFeed {
  /** The activity in the home, and on a server if there is one. */
  readonly activity = new ActivityIndex(homeStore())
  readonly serverActivity: ActivityIndex | undefined
  readonly #readOnly: boolean
  readonly #clients = new Set<(view: NowView) => void>()
  readonly #entries = keptFor(slowPartsMs, () => freshSources.entries(Date.now()))
  readonly #hooks = keptFor(slowPartsMs, async () => await freshSources.hooks())
  readonly #server: () => Promise<ServerContents | undefined>
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<NowView> | undefined
  #shown = ''

  constructor(readOnly: boolean, server?: LeaseStore) {
    this.serverActivity = server && new ActivityIndex(server)
    this.#server = server === undefined ? async () => undefined : lastOutcomeOf(() => this.#readServer())
    this.#readOnly = readOnly
  }

  /** Looks now. */
  async look(): Promise<NowView> {
    // A look that is under way may have missed the last change.
    await this.#looking?.catch(() => {})
    return await (this.#looking ??= this.#gather().finally(() => (this.#looking = undefined)))
  }

  /** Yields the state at once and whenever it changes, until the signal aborts. A slow reader misses some. */
  async *follow(signal: AbortSignal): AsyncGenerator<NowView> {
    let next: NowView | undefined
    let wake = (): void => {}
    const client = (view: NowView): void => {
      next = view
      wake()
    }
    const stop = (): void => wake()
    signal.addEventListener('abort', stop)
    this.#clients.add(client)
    // Every page is sent the next view, so that a new one has it at once.
    this.#shown = ''
    clearTimeout(this.#timer)
    void this.#lookAgain()
    try {
      while (!signal.aborted) {
        if (next === undefined) await new Promise<void>((resolve) => (wake = resolve))
        const view = next
        next = undefined
        if (view !== undefined && !signal.aborted) yield view
      }
    } finally {
      signal.removeEventListener('abort', stop)
      this.#clients.delete(client)
      if (this.#clients.size === 0) clearTimeout(this.#timer)
    }
  }

  /** Looks, tells the pages, and looks again later. After a failure they keep what they show. */
  async #lookAgain(): Promise<void> {
    const view = await this.look().catch(() => undefined)
    if (view !== undefined) this.#tell(view)
    clearTimeout(this.#timer)
    if (this.#clients.size > 0) this.#timer = setTimeout(() => void this.#lookAgain(), lookMs)
  }

  async #gather(): Promise<NowView> {
    const look = await lookAround({
      sessions: (home) => listSessionsIn(home, { newest: maxTiles }),
      server: this.#server,
      entries: this.#entries,
      hooks: this.#hooks,
    })
    const status = describeLook(look)
    const { home, server } = look
    const targets = [...(home.claims?.targets ?? []), ...(server?.targets ?? [])].filter(
      ({ workspace }) => !isInternal(workspace),
    )
    await this.activity.refresh().catch(() => {})
    const indexes = [this.activity, this.serverActivity]
    return nowView({
      status,
      targets,
      sessions: [...home.sessions, ...(server?.sessions ?? [])],
      prompts: ifPossible(() => promptedSessions(process.env)) ?? [],
      incidents: newestIncidents(indexes, status.at),
      lastActivityOf: (id) => Math.max(...indexes.map((index) => index?.lastActivityOf(id) ?? 0)),
      readOnly: this.#readOnly,
    })
  }

  /** Reads the server, and what has happened there. */
  async #readServer(): Promise<ServerContents | undefined> {
    const contents = await freshSources.server()
    await this.serverActivity?.refresh().catch(() => {})
    return contents
  }

  #tell(view: NowView): void {
    const shown = stableJson(view)
    if (shown === this.#shown) return
    this.#shown = shown
    for (const client of this.#clients) client(view)
  }
}

/** Keeps what was read for a while. */
function keptFor<Value>(keptMs: number, read: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined
  let dueMs = 0
  return () => {
    if (value === undefined || systemClock.mono() >= dueMs) {
      value = read()
      dueMs = systemClock.mono() + keptMs
    }
    return value
  }
}

/**
 * Returns the outcome of the last read, and begins another one: a server that does not answer must not hold
 * up the rest. Only the first call waits.
 */
function lastOutcomeOf<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let last: Promise<Value> | undefined
  let underWay: Promise<Value> | undefined
  return async () => {
    if (underWay === undefined) {
      const reading = (underWay = read())
      const settle = (): void => {
        last = reading
        underWay = undefined
      }
      reading.then(settle, settle)
    }
    return await (last ?? underWay)
  }
}

/** Fields that change while nothing happens. */
const restless = new Set(['held_ms', 'expires_in_ms', 'waited_ms'])

/** The part of a state that a page must be told about if it has changed. */
const stableJson = (view: NowView): string =>
  JSON.stringify({ ...view, at: 0 }, (name, value: unknown) => (restless.has(name) ? undefined : value))
