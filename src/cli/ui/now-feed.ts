import { type FSWatcher, watch } from 'node:fs'
import { join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { stintHome } from '../../base/fs/home.ts'
import { systemClock } from '../../base/process/clock.ts'
import { pidExists } from '../../base/process/platform.ts'
import { visibleText } from '../../base/text/escape.ts'
import { type AllClaims, homeRegister, promptedSessions, type Register } from '../../lease/index.ts'
import { type DriverStore, repeatedSessionLister, type SessionSummary } from '../../session/index.ts'
import type { NowView } from '../../ui/protocol.ts'
import type { ServerContents } from '../health/postgres.ts'
import { gatherStatus, type StatusSources, statusSources } from '../status/gather.ts'
import { ActivityIndex, newestIncidents } from './activity-index.ts'
import { nowView } from './now-view.ts'
import { Part } from './part.ts'

/** How often the processes of sessions are looked at while a page is open, in milliseconds. */
const tickMs = 1000
/** Changes that come one after the other are told together, in milliseconds. */
const settleMs = 100

/** Of so many milliseconds, looking takes one, while nothing happens. */
const share = 200
/** The first look reads everything; those after it cost less. */
const longestRestMs = 15_000

/** A state of this age is shown at once, in milliseconds. */
const recentMs = 10_000

/** How many sessions are read for their newest event. */
const maxLastActs = 20

const noClaims: AllClaims = { targets: [], unreadable: [] }

/**
 * The state of everything, for the pages that are open. It looks again when a directory of the home changes,
 * when a process of a session ends, and now and then; while no page is open it does nothing.
 */
export class NowFeed {
  /** The activity in the home, and on a server if there is one. */
  readonly activity = new ActivityIndex(homeRegister())
  readonly serverActivity: ActivityIndex | undefined
  readonly #store: DriverStore
  readonly #readOnly: boolean
  readonly #clients = new Set<(view: NowView) => void>()
  readonly #claims = new Part<AllClaims>(tickMs)
  readonly #sessions = new Part<SessionSummary[]>(tickMs)
  readonly #listSessions = repeatedSessionLister()
  readonly #server = new Part<ServerContents | undefined>(2 * tickMs, () => this.#lookSoon())
  readonly #entries = new Part<Awaited<ReturnType<StatusSources['entries']>>>(10 * tickMs)
  readonly #hooks = new Part<Awaited<ReturnType<StatusSources['hooks']>>>(60 * tickMs)
  /** Where watching does not work, all logs are read again now and then. */
  readonly #logs = new Part<void>(15 * tickMs)
  /** The keys of the server that had claims or waiters at the last look. */
  #serverKeys = new Set<string>()
  /** The processes of sessions that lived at the last look. */
  #alive = new Set<number>()
  /** Until then, in milliseconds, only a change makes it look again. */
  #restUntilMs = 0
  /** The newest events, by session, and the time of the record. */
  #lastActs = new Map<string, { at: number; text: string | null }>()
  #watchers = new Map<string, FSWatcher>()
  #tick: NodeJS.Timeout | undefined
  #soon: NodeJS.Timeout | undefined
  /** The look under way, and whether another one must follow it. */
  #looking: Promise<void> | undefined
  #isOutdated = false
  #view: NowView | undefined
  #lookedAtMs = Number.NEGATIVE_INFINITY
  #shown = ''

  constructor(store: DriverStore, readOnly: boolean, server?: Register) {
    this.serverActivity = server && new ActivityIndex(server)
    this.#store = store
    this.#readOnly = readOnly
  }

  /** The state now. */
  async look(): Promise<NowView> {
    // A look that is under way may have missed the last change.
    await this.#looking?.catch(() => {})
    this.#expireAll()
    await this.#lookNow()
    return this.#view as NowView
  }

  /** Looks, unless a look was done a moment ago: a page is about to be opened. */
  lookAhead(): void {
    if (!this.#isRecent) setImmediate(() => void this.look().catch(() => {}))
  }

  /** The view that a new page may show until the next look; undefined if the last look is too old. */
  get recentView(): NowView | undefined {
    return this.#isRecent ? this.#view : undefined
  }

  get #isRecent(): boolean {
    return this.#clients.size > 0 || systemClock.mono() - this.#lookedAtMs < recentMs
  }

  /**
   * The state at once, unless it is the one of `seenAt`, and again whenever it changes, until the signal
   * aborts. A slow reader misses some.
   */
  async *follow(signal: AbortSignal, seenAt?: number): AsyncGenerator<NowView> {
    let next: NowView | undefined
    let wake = (): void => {}
    const client = (view: NowView): void => {
      next = view
      wake()
    }
    const stop = (): void => wake()
    signal.addEventListener('abort', stop)
    const isRecent = this.#isRecent
    this.#clients.add(client)
    if (!isRecent) this.#shown = ''
    else if (this.#view?.at !== seenAt) next = this.#view
    // The first look watches the home only if there is a client.
    if (this.#clients.size === 1) this.#start(isRecent)
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
      if (this.#clients.size === 0) this.#stop()
    }
  }

  #start(isRecent: boolean): void {
    this.#expireAll()
    this.#tick = setInterval(() => this.#lookIfDue(), tickMs)
    // A look blocks the event loop: the page gets what was seen a moment ago before the look begins.
    if (isRecent) this.#lookSoon()
    else this.#lookQuietly()
  }

  #stop(): void {
    clearInterval(this.#tick)
    clearTimeout(this.#soon)
    this.#soon = undefined
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #expireAll(): void {
    for (const part of [this.#claims, this.#sessions, this.#server, this.#entries, this.#hooks]) part.expire()
    this.activity.invalidate()
  }

  /** Looks again if a part is due, or if a process has ended since the last look. */
  #lookIfDue(): void {
    const hasEnded = [...this.#alive].some((pid) => !pidExists(pid))
    if (hasEnded) {
      this.#claims.expire()
      this.#sessions.expire()
    }
    const parts = [this.#claims, this.#sessions, this.#server, this.#entries, this.#hooks]
    // A part that no look has asked for, such as a server where there is none, has nothing to tell.
    const hasOld = parts.some((part) => part.isRead && part.isDue)
    const isDue = systemClock.mono() >= this.#restUntilMs && hasOld
    if (hasEnded || isDue) this.#lookQuietly()
  }

  /** Looks; after a failure the pages keep what they show, until the next look. */
  #lookQuietly(): void {
    this.#lookNow().catch(() => {})
  }

  #lookSoon(): void {
    if (this.#clients.size > 0) this.#soon ??= setTimeout(() => this.#lookQuietly(), settleMs)
  }

  /** Looks, and tells the pages if anything has changed. A look that is under way is followed by another. */
  #lookNow(): Promise<void> {
    clearTimeout(this.#soon)
    this.#soon = undefined
    this.#isOutdated = this.#looking !== undefined
    return (this.#looking ??= this.#gather().finally(() => {
      this.#looking = undefined
      if (this.#isOutdated) this.#lookSoon()
    }))
  }

  async #gather(): Promise<void> {
    let claims = noClaims
    let sessions: SessionSummary[] = []
    let server: ServerContents | undefined
    const before = process.cpuUsage()
    const onServer = this.serverActivity
    // Watch first: what changes after this makes the parts due again.
    this.#watchHome()
    const status = await gatherStatus({
      claims: async (home) => (claims = await this.#claims.get(() => statusSources.claims(home))),
      sessions: async (home) => (sessions = await this.#sessions.get(() => this.#listSessions(home))),
      server: async () => (server = onServer && (await this.#server.get(() => this.#readServer(onServer)))),
      entries: (at) => this.#entries.get(() => statusSources.entries(at)),
      hooks: () => this.#hooks.get(() => statusSources.hooks()),
    })
    const targets = [...claims.targets, ...(server?.targets ?? [])]
    for (const { key, workspace } of targets) this.activity.learn(key, workspace)
    await this.#logs.get(() => this.activity.invalidate())
    await this.activity.refresh().catch(() => {})
    const all = [...sessions, ...(server?.sessions ?? [])]
    const prompts = ifPossible(() => promptedSessions(process.env)) ?? []
    const incidents = newestIncidents([this.activity, this.serverActivity], status.at)
    const processes = [
      ...targets.flatMap(({ claims, waiters, observation }) =>
        [...claims.flatMap(({ holders }) => holders), ...waiters.map((waiter) => waiter.process)].filter(
          (each) => observation.liveness(each) === 'alive',
        ),
      ),
      ...all.filter(({ state }) => state === 'active').flatMap(({ holder }) => holder?.process ?? []),
      ...prompts.map(({ agent }) => agent),
    ]
    this.#alive = new Set(processes.map(({ pid }) => pid))
    this.#view = nowView({ status, targets, sessions: all, prompts, incidents, readOnly: this.#readOnly })
    await this.#addLastActs(this.#view)
    this.#tell(this.#view)
    this.#lookedAtMs = systemClock.mono()
    const { user, system } = process.cpuUsage(before)
    this.#restUntilMs = systemClock.mono() + Math.min(longestRestMs, ((user + system) / 1000) * share)
  }

  /** Reads the server, and what has happened there where there are claims, or were at the last look. */
  async #readServer(serverActivity: ActivityIndex): Promise<ServerContents | undefined> {
    const contents = await statusSources.server()
    for (const { key, workspace } of contents?.targets ?? []) {
      serverActivity.learn(key, workspace)
      this.#serverKeys.add(key)
    }
    for (const key of this.#serverKeys) serverActivity.invalidate(key)
    this.#serverKeys = new Set(contents?.targets.map(({ key }) => key))
    await serverActivity.refresh().catch(() => {})
    return contents
  }

  /** Adds the newest event of the sessions that are being written; one without a new record is not read. */
  async #addLastActs({ tiles }: NowView): Promise<void> {
    const before = this.#lastActs
    this.#lastActs = new Map()
    for (const tile of tiles.filter(({ recorded }) => recorded === 'active').slice(0, maxLastActs)) {
      const { session_id: id, last_at: at } = tile
      const known = before.get(id)
      const act = known?.at === at ? known : { at, text: await this.#newestEvent(id) }
      this.#lastActs.set(id, act)
      tile.last_act = act.text
    }
  }

  async #newestEvent(id: string): Promise<string | null> {
    try {
      const [event] = await (await this.#store.inspect(id)).tail(1)
      return event === undefined
        ? null
        : visibleText(`${event.type} ${JSON.stringify(event.data) ?? ''}`, 200)
    } catch {
      // It was removed just now, or is damaged, which its state tells.
      return null
    }
  }

  #tell(view: NowView): void {
    const shown = stableJson(view)
    if (shown === this.#shown) return
    this.#shown = shown
    for (const client of this.#clients) client(view)
  }

  /** Watches the directories that change with claims and sessions. One that is missing is tried again. */
  #watchHome(): void {
    if (this.#clients.size === 0) return
    const home = ifPossible(() => stintHome())
    if (home === undefined) return
    const onActivity = (name: string): void => {
      this.activity.invalidate(/^([0-9a-f]{12})\.log$/.exec(name)?.[1])
      this.#claims.expire()
    }
    const onSession = (name: string): void => {
      // A list of sessions writes its cache, and must not lead to another list.
      if (!name.includes('summaries') && !name.endsWith('.tmp')) this.#sessions.expire()
    }
    const changes: Record<string, (name: string) => void> = {
      // Every grant, refusal and release is noted there.
      activity: onActivity,
      locks: () => this.#claims.expire(),
      prompts: () => this.#claims.expire(),
      sessions: onSession,
      'sessions/.cache': onSession,
    }
    for (const [name, onChange] of Object.entries(changes)) {
      if (this.#watchers.has(name)) continue
      const watcher = ifPossible(() =>
        watch(join(home, name), (_event, file) => {
          onChange(file ?? '')
          this.#lookSoon()
        }),
      )
      if (watcher === undefined) continue
      this.#watchers.set(name, watcher)
      const end = (): void => {
        watcher.close()
        this.#watchers.delete(name)
      }
      watcher.on('error', end)
    }
  }
}

/** Fields that change while nothing happens. */
const restless = new Set(['age_ms', 'expires_in_ms', 'waited_ms', 'free_bytes', 'free_files', 'text'])

/** The part of a state that a page must be told about if it has changed. */
const stableJson = (view: NowView): string =>
  JSON.stringify({ ...view, at: 0 }, (name, value: unknown) => (restless.has(name) ? undefined : value))
