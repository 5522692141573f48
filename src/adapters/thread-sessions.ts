import { createHash } from 'node:crypto'
import { errorCode } from '../base/errors/stint-error.ts'
import type {
  HoldOptions,
  NewEvent,
  Pending,
  Session,
  SessionEvent,
  SessionStore,
  SharedSession,
} from '../session/index.ts'
import { type CheckpointData, ThreadHistory } from './thread-history.ts'

const tool = 'langgraph'
/** How many of the newest events to read for the newest checkpoint, before all are read. */
const tailSizes = [16, 128]

/** A thread whose session is open in this process, for all savers. */
interface OpenThread {
  readonly history: Promise<ThreadHistory>
  /** The end of the last change: changes of a thread are made one after the other. */
  last: Promise<unknown>
}

const openThreads = new WeakMap<Session, OpenThread>()

/** The sessions of a store that are threads of LangGraph. */
export class ThreadSessions {
  readonly #store: SessionStore
  readonly #options: HoldOptions

  constructor(store: SessionStore, options: HoldOptions) {
    this.#store = store
    this.#options = options
  }

  /** Appends the event that `make` makes of the history, after all earlier changes of the thread. */
  async append(thread: string, make: (history: ThreadHistory) => Promise<NewEvent>): Promise<void> {
    await this.#hold(thread).use(async (session) => {
      const open = openThread(session)
      const change = open.last.then(async () => {
        const history = await open.history
        const event = await make(history)
        const { seq } = await session.append(event)
        history.apply({ seq, type: event.type, data: event.data })
      })
      open.last = change.catch(() => {})
      await change
    })
  }

  /** The history of a thread, without a lock; or only the newest checkpoint of the namespace `newestOf`. */
  async read(thread: string, newestOf?: string): Promise<ThreadHistory> {
    const session = this.#hold(thread)
    if (session.isOpen) return await session.use(async (open) => await openThread(open).history)
    try {
      const inspection = await this.#store.inspect(session.id)
      for (const count of newestOf === undefined ? [] : tailSizes) {
        const events = await inspection.tail(count)
        const from = firstNeeded(events, newestOf)
        if (from !== undefined) return await historyOf(events.filter(({ seq = 0 }) => seq >= from))
      }
      return await historyOf(inspection.events())
    } catch (error) {
      if (errorCode(error) === 'NOT_FOUND') return new ThreadHistory()
      throw error
    }
  }

  async remove(thread: string): Promise<void> {
    const session = this.#hold(thread)
    await session.close()
    try {
      await this.#store.remove(session.id, { purge: true })
    } catch (error) {
      if (errorCode(error) !== 'NOT_FOUND') throw error
    }
  }

  async list(): Promise<string[]> {
    const sessions = await this.#store.list({ tool, prefix: `${tool}-` })
    return sessions.flatMap(({ title }) => title ?? [])
  }

  #hold(thread: string): SharedSession {
    // Any text can be the id of a thread, so the id of its session is a hash.
    const hash = createHash('sha256').update(thread).digest('hex').slice(0, 40)
    return this.#store.hold(`${tool}-${hash}`, { ...this.#options, create: { tool, title: thread } })
  }
}

function openThread(session: Session): OpenThread {
  const known = openThreads.get(session)
  if (known !== undefined) return known
  const open: OpenThread = { history: historyOf(session.events()), last: Promise.resolve() }
  openThreads.set(session, open)
  return open
}

type Events = readonly (SessionEvent | Pending<SessionEvent>)[]

async function historyOf(events: Events | AsyncIterable<Events[number]>): Promise<ThreadHistory> {
  const history = new ThreadHistory()
  for await (const event of events) if (event.seq !== undefined) history.apply(event)
  return history
}

/** The record from which the newest checkpoint of a namespace can be read, if it is among these events. */
function firstNeeded(events: Events, ns: string | undefined): number | undefined {
  const isInNamespace = ({ type, data }: Events[number]): boolean =>
    type === 'checkpoint' && (data as CheckpointData).ns === ns
  const last = events.findLast(isInNamespace)
  const from = (last?.data as CheckpointData | undefined)?.since ?? last?.seq
  return from !== undefined && from >= (events[0]?.seq ?? Infinity) ? from : undefined
}
