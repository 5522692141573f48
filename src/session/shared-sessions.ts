import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCode, errorMessage } from '../base/errors/stint-error.ts'
import { systemClock } from '../base/process/clock.ts'
import { durationMs, timerMs } from '../base/text/duration.ts'
import type { Medium } from './medium.ts'
import type { Session } from './session.ts'
import type { HoldOptions, ResumeOptions, SharedSession } from './store.ts'

/** How many sessions a store keeps open at once. Each has two files open. */
const maxOpenSessions = 64
const defaultIdleMs = 10_000
const defaultWaitMs = 5000
/** How often to ask whether other processes want one of the open sessions, in milliseconds. */
const lookMs = 200
/** How long this process gives way after a session was wanted: the other one tries every 50 ms. */
const giveWayMs = 150
/** After these errors a session writes nothing more: the next use needs another one. */
const lostCodes = new Set<string | undefined>(['FENCED', 'SESSION_CLOSED', 'DISK_FAILED'])

/** Opens a session for the first use of it. */
type OpenSession = (id: string, options: HoldOptions, wait: ResumeOptions['wait']) => Promise<Session>

/** A session from the moment it is opened until it is closed again. */
interface Entry {
  readonly id: string
  readonly idleMs: number
  readonly warn: (message: string) => void
  readonly opened: Promise<Session>
  /** Set when it is open. */
  session?: Session
  /** Resolves when another entry may take its place, with the error of its close. */
  readonly gone: Promise<unknown>
  readonly setGone: (failure?: unknown) => void
  uses: number
  /** Close it when its last use ends: it is wanted, it was lost, or the program has asked for that. */
  mustEnd: boolean
  isWanted: boolean
  isEnding: boolean
  /** A caller waits for its close, and hears how that went. */
  isAwaited: boolean
  idleTimer?: NodeJS.Timeout
}

/** The stores of this process that have sessions open. */
const openStores = new Set<SharedSessions>()

/** At the end of the program its event loop is empty: closing the sessions keeps it alive until they are. */
const closeBeforeExit = (): void => {
  for (const store of openStores) store.closeIdle()
}

/** The sessions that a store keeps open for its program: shared by all uses, and bounded in number. */
export class SharedSessions {
  readonly #medium: Medium
  readonly #open: OpenSession
  readonly #entries = new Map<string, Entry>()
  /** Open and not in use, least recently used first. */
  readonly #idle = new Set<Entry>()
  /** Uses that wait until another session is closed. */
  readonly #queue: (() => void)[] = []
  /** Tells whether a call comes from within a use: such a one must not wait for the end of another use. */
  readonly #scope = new AsyncLocalStorage<{ isInUse: boolean }>()
  #openCount = 0
  #endingCount = 0
  #lookTimer: NodeJS.Timeout | undefined
  #looking = false

  constructor(medium: Medium, open: OpenSession) {
    this.#medium = medium
    this.#open = open
  }

  hold(id: string, options: HoldOptions = {}): SharedSession {
    const idleMs = durationMs(options.idle ?? defaultIdleMs, 'idle')
    const waitMs = durationMs(options.wait ?? defaultWaitMs, 'wait')
    const close = async (): Promise<void> => {
      const entry = this.#entries.get(id)
      if (entry !== undefined) await this.#closeOne(entry)
    }
    const openLog = (): Session | undefined => {
      const entry = this.#entries.get(id)
      return entry?.isEnding || entry?.mustEnd ? undefined : entry?.session
    }
    return {
      id,
      get session() {
        return openLog()
      },
      use: async (fn) => {
        const { entry, session } = await this.#enter(id, options, idleMs, systemClock.mono() + waitMs)
        const scope = { isInUse: true }
        try {
          return await this.#scope.run(scope, () => fn(session))
        } catch (error) {
          if (lostCodes.has(errorCode(error))) entry.mustEnd = true
          throw error
        } finally {
          scope.isInUse = false
          this.#leave(entry)
        }
      },
      close,
      [Symbol.asyncDispose]: close,
    }
  }

  /** Closes all sessions, each when its last use has ended. */
  async close(): Promise<void> {
    const closed = await Promise.allSettled([...this.#entries.values()].map((entry) => this.#closeOne(entry)))
    const failures = closed.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    )
    if (failures.length > 1) throw new AggregateError(failures, `${failures.length} sessions were not closed`)
    if (failures.length === 1) throw failures[0]
  }

  closeIdle(): void {
    for (const entry of this.#idle) this.#end(entry)
  }

  async #closeOne(entry: Entry): Promise<void> {
    entry.mustEnd = true
    if (this.#idle.has(entry)) this.#end(entry)
    // This use would wait for its own end.
    if (this.#isInUse) return
    entry.isAwaited = true
    const failure = await entry.gone
    if (failure !== undefined) throw failure
  }

  get #isInUse(): boolean {
    return this.#scope.getStore()?.isInUse === true
  }

  /** Returns the open session of an id, and counts a use of it. */
  async #enter(
    id: string,
    options: HoldOptions,
    idleMs: number,
    deadline: number,
  ): Promise<{ entry: Entry; session: Session }> {
    for (;;) {
      const current = this.#entries.get(id)
      if (current?.isEnding || (current?.mustEnd && !this.#isInUse)) {
        await current.gone
        continue
      }
      const entry = current ?? this.#add(id, options, idleMs, deadline)
      this.#join(entry)
      try {
        return { entry, session: await entry.opened }
      } catch (error) {
        // The use that has opened it may have waited for a shorter time than this one does.
        if (current === undefined || systemClock.mono() >= deadline) throw error
      }
    }
  }

  #add(id: string, options: HoldOptions, idleMs: number, deadline: number): Entry {
    const { onWarning: warn = (message) => process.emitWarning(message) } = options
    let setGone: Entry['setGone'] = () => {}
    const gone = new Promise<unknown>((resolve) => (setGone = resolve))
    const opened = this.#openWithin(id, options, deadline)
    const state = { mustEnd: false, isWanted: false, isEnding: false, isAwaited: false }
    const entry: Entry = { id, idleMs, warn, opened, gone, setGone, uses: 0, ...state }
    this.#entries.set(id, entry)
    opened.then(
      (session) => (entry.session = session),
      () => this.#forget(entry),
    )
    return entry
  }

  async #openWithin(id: string, options: HoldOptions, deadline: number): Promise<Session> {
    await this.#takePlace()
    try {
      const session = await this.#open(id, options, Math.max(0, deadline - systemClock.mono()))
      // An earlier holder may not have seen that this session was wanted: it is ours now.
      await this.#medium.wanted([id]).catch(() => {})
      this.#watch()
      return session
    } catch (error) {
      this.#givePlace()
      throw error
    }
  }

  #join(entry: Entry): void {
    entry.uses += 1
    this.#idle.delete(entry)
    clearTimeout(entry.idleTimer)
  }

  #leave(entry: Entry): void {
    entry.uses -= 1
    if (entry.uses > 0) return
    this.#idle.add(entry)
    if (entry.mustEnd) this.#end(entry)
    else entry.idleTimer = setTimeout(() => this.#end(entry), timerMs(entry.idleMs)).unref()
    this.#makeRoom()
  }

  /** Closes a session that is not in use. */
  #end(entry: Entry): void {
    entry.isEnding = true
    this.#endingCount += 1
    this.#idle.delete(entry)
    clearTimeout(entry.idleTimer)
    void this.#close(entry)
  }

  async #close(entry: Entry): Promise<void> {
    let failure: unknown
    try {
      await (await entry.opened).close()
    } catch (error) {
      // A session that another process has taken needs no closing.
      if (errorCode(error) !== 'FENCED') failure = error
    }
    this.#endingCount -= 1
    this.#givePlace()
    if (failure !== undefined && !entry.isAwaited)
      entry.warn(`session ${entry.id} was not closed cleanly: ${errorMessage(failure)}`)
    if (entry.isWanted) await delay(giveWayMs)
    this.#forget(entry, failure)
  }

  #forget(entry: Entry, failure?: unknown): void {
    this.#entries.delete(entry.id)
    entry.setGone(failure)
    if (this.#openCount === 0) this.#stopWatching()
  }

  /** Resolves when one more session may be open. */
  async #takePlace(): Promise<void> {
    // A use inside another one does not wait: all places may be taken by uses that wait for such a one.
    if (this.#openCount < maxOpenSessions || this.#isInUse) {
      this.#openCount += 1
      return
    }
    const place = new Promise<void>((resolve) => this.#queue.push(resolve))
    this.#makeRoom()
    await place
  }

  /** Closes the least recently used session, unless enough are being closed already. */
  #makeRoom(): void {
    const [oldest] = this.#idle
    const needed = this.#openCount - this.#endingCount + this.#queue.length
    if (oldest !== undefined && needed > maxOpenSessions) this.#end(oldest)
  }

  #givePlace(): void {
    const next = this.#openCount > maxOpenSessions ? undefined : this.#queue.shift()
    if (next !== undefined) return next()
    this.#openCount -= 1
    this.#makeRoom()
  }

  #watch(): void {
    if (this.#lookTimer !== undefined) return
    this.#lookTimer = setInterval(() => void this.#look(), lookMs).unref()
    if (openStores.size === 0) process.on('beforeExit', closeBeforeExit)
    openStores.add(this)
  }

  #stopWatching(): void {
    clearInterval(this.#lookTimer)
    this.#lookTimer = undefined
    openStores.delete(this)
    if (openStores.size === 0) process.off('beforeExit', closeBeforeExit)
  }

  /** Ends the sessions that other processes want, each as soon as its uses have ended. */
  async #look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    try {
      // Not those that this process waits for itself: it would take its own word for that of another.
      const open = [...this.#entries.values()].filter(({ session, isEnding }) => session && !isEnding)
      for (const id of await this.#medium.wanted(open.map(({ id }) => id))) {
        const entry = this.#entries.get(id)
        if (entry === undefined) continue
        entry.mustEnd = entry.isWanted = true
        if (this.#idle.has(entry)) this.#end(entry)
      }
    } catch {
      // The next look may succeed. Until then the sessions are closed when they are idle.
    } finally {
      this.#looking = false
    }
  }
}
