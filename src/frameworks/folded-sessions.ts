import { errorCode } from '../base/errors/stint-error.ts'
import type {
  HoldOptions,
  Inspection,
  NewEvent,
  Session,
  SessionEvent,
  SessionStore,
  SharedSession,
} from '../session/index.ts'

/** An event on its way into a state: all that a state may depend on. */
export type FoldedEvent = Pick<SessionEvent, 'seq' | 'type' | 'data'>

/** How an adapter makes a state of the events of a session. */
export interface Fold<State> {
  empty(): State
  apply(state: State, event: FoldedEvent): void
}

/** The state of a session that is open in this process, for every framework that uses it. */
interface OpenState {
  readonly state: Promise<unknown>
  /** The end of the last change: changes of a session are made one after the other. */
  last: Promise<unknown>
}

const openStates = new WeakMap<Session, OpenState>()
/** How many holds an adapter remembers: a new one costs as much as reading its state. */
const maxHolds = 1024

/** The sessions of one adapter. Each has a key, and a state that is folded from its events. */
export class FoldedSessions<State> {
  readonly #store: SessionStore
  readonly #tool: string
  readonly #fold: Fold<State>
  readonly #options: HoldOptions
  readonly #holds = new Map<string, SharedSession>()

  /** `tool` is what the sessions are listed under, and the beginning of their keys. */
  constructor(store: SessionStore, tool: string, fold: Fold<State>, options: HoldOptions = {}) {
    this.#store = store
    this.#tool = tool
    this.#fold = fold
    this.#options = { ...options, create: { tool }, purpose: `keep a session of ${tool}` }
  }

  /** Appends, all or none, the events that `make` makes of the state, after all earlier changes. */
  async append(
    key: string,
    make: (state: State) => readonly NewEvent[] | Promise<readonly NewEvent[]>,
  ): Promise<void> {
    await this.#hold(key).use((session) => {
      const open = this.#openState(session)
      const change = open.last.then(async () => {
        const state = (await open.state) as State
        const events = await make(state)
        const receipts = await session.append(events)
        for (const [index, { seq }] of receipts.entries())
          this.#fold.apply(state, { seq, type: '', data: undefined, ...events[index] })
      })
      open.last = change.catch(() => {})
      return change
    })
  }

  /** The state of a session, without a lock: as long as it is open here, the state that is kept. */
  async read(key: string): Promise<State> {
    const hold = this.#hold(key)
    if (hold.session === undefined) return await this.fold((await this.inspect(key))?.events() ?? [])
    // A state that is not there yet is read in a use, which keeps the session open.
    const known = openStates.get(hold.session)
    return (await (known?.state ?? hold.use((session) => this.#openState(session).state))) as State
  }

  isOpen(key: string): boolean {
    return this.#hold(key).session !== undefined
  }

  async inspect(key: string): Promise<Inspection | undefined> {
    return await ifFound(this.#store.inspect(this.#nameOf(key)))
  }

  async remove(key: string): Promise<void> {
    await this.#hold(key).close()
    await ifFound(this.#store.remove(this.#nameOf(key), { purge: true }))
  }

  /** The sessions whose keys begin with a text, and the times of their last records. */
  async list(prefix = ''): Promise<{ key: string; lastAt: number }[]> {
    const sessions = await this.#store.list({ keyPrefix: this.#nameOf(prefix).key })
    const start = this.#nameOf('').key.length
    return sessions.map(({ key = '', lastAt }) => ({ key: key.slice(start), lastAt }))
  }

  async fold(events: Iterable<FoldedEvent> | AsyncIterable<FoldedEvent>): Promise<State> {
    const state = this.#fold.empty()
    for await (const event of events) this.#fold.apply(state, event)
    return state
  }

  #nameOf(key: string): { key: string } {
    return { key: `${this.#tool}/${key}` }
  }

  #hold(key: string): SharedSession {
    const known = this.#holds.get(key)
    if (known !== undefined) return known
    const hold = this.#store.hold(this.#nameOf(key), this.#options)
    if (this.#holds.size === maxHolds) this.#holds.clear()
    this.#holds.set(key, hold)
    return hold
  }

  #openState(session: Session): OpenState {
    const known = openStates.get(session)
    if (known !== undefined) return known
    const open: OpenState = { state: this.fold(session.events()), last: Promise.resolve() }
    openStates.set(session, open)
    return open
  }
}

async function ifFound<Found>(found: Promise<Found>): Promise<Found | undefined> {
  try {
    return await found
  } catch (error) {
    if (errorCode(error) === 'NOT_FOUND') return undefined
    throw error
  }
}
