import {
  auditHash,
  createStore,
  type HeldSession,
  type Holder,
  type LogEntry,
  type LogName,
  type Manifest,
  newHolder,
  type ReadableSession,
  type RecordOptions,
  type RecordRange,
  revised,
  type Revision,
  sessionExists,
  sessionFenced,
  type SessionHold,
  sessionLocked,
  sessionNotFound,
  type SessionRecords,
  type SessionStore,
  type SessionSummary,
  type StoreDriver,
  type StoredReceipt,
  type StoredRecord,
  summarize,
  turnType,
  type WriteGuard,
} from 'stint/driver'

/** What is kept of one session. Data stays JSON, so that no caller can change it. */
interface MemorySession {
  manifest: Manifest
  journal: MemoryRecord[]
  audit: MemoryRecord[]
  holder: Holder | undefined
  epoch: number
}

type MemoryRecord = Omit<StoredRecord, 'data'> & { json: string }

/** All sessions, by id. Stores on the same map are like processes on the same disk. */
export type Memory = Map<string, MemorySession>

export const memoryStore = (memory: Memory = new Map()): SessionStore => createStore(memoryDriver(memory))

function memoryDriver(memory: Memory): StoreDriver {
  function find(id: string): MemorySession {
    const session = memory.get(id)
    if (session === undefined) throw sessionNotFound(id)
    return session
  }

  /** A driver on a real medium would look whether the holder is still alive. */
  function findFree(id: string): MemorySession {
    const session = find(id)
    if (session.holder !== undefined) throw sessionLocked(id, session.holder)
    return session
  }

  return {
    id: 'memory',

    async create(manifest, hold, guard) {
      const id = manifest.session_id
      if (memory.has(id)) throw sessionExists(id)
      const session = { manifest, journal: [], audit: [], holder: undefined, epoch: 0 }
      memory.set(id, session)
      return new HeldMemory(session, hold, guard)
    },

    async open(id, hold, guard) {
      return new HeldMemory(findFree(id), hold, guard)
    },

    async read(id) {
      return new ReadableMemory(find(id))
    },

    async list() {
      return [...memory.values()].map((session) => new ReadableMemory(session).summary)
    },

    async unlock(id) {
      const session = find(id)
      const { holder } = session
      session.holder = undefined
      return holder
    },

    async remove(id) {
      findFree(id)
      memory.delete(id)
    },
  }
}

class MemoryRecords implements SessionRecords {
  protected readonly session: MemorySession

  constructor(session: MemorySession) {
    this.session = session
  }

  get manifest(): Manifest {
    return this.session.manifest
  }

  async *records(log: LogName, { from = 1, to = Infinity }: RecordRange = {}): AsyncGenerator<StoredRecord> {
    // A copy: records that are appended while a caller reads are not for this reader.
    for (const { json, ...record } of this.session[log].slice(from - 1))
      if (record.seq <= to) yield { ...record, data: JSON.parse(json) as unknown }
  }
}

class ReadableMemory extends MemoryRecords implements ReadableSession {
  get summary(): SessionSummary {
    const { manifest, journal, holder } = this.session
    return summarize(manifest, {
      state: holder === undefined ? 'closed' : 'active',
      records: journal.length,
      lastAt: journal.at(-1)?.at,
      turns: journal.filter(({ type }) => type === turnType).length,
      bytes: journal.reduce((bytes, { json }) => bytes + json.length, 0),
      holder,
    })
  }
}

class HeldMemory extends MemoryRecords implements HeldSession {
  readonly #holder: Holder
  readonly #guard: WriteGuard

  constructor(session: MemorySession, hold: SessionHold, guard: WriteGuard) {
    super(session)
    session.epoch += 1
    this.#holder = newHolder(hold, session.epoch)
    this.#guard = guard
    session.holder = this.#holder
  }

  get lastSeq(): number {
    return this.session.journal.length
  }

  async append(log: LogName, entry: LogEntry, options: RecordOptions = {}): Promise<StoredReceipt> {
    this.#assertHeld()
    const { type, json, slot, masked } = entry
    this.#guard.check(Buffer.from(json))
    const records = this.session[log]
    const receipt: StoredReceipt = { seq: records.length + 1, at: options.at ?? Date.now() }
    const data = JSON.parse(json) as unknown
    if (log === 'audit') receipt.hash = auditHash(records.at(-1)?.hash ?? '', { ...receipt, type, data })
    records.push({ ...receipt, type, json, slot, masked })
    options.applied?.(receipt)
    return receipt
  }

  /** All or none: every entry is checked before the first is added, and there is no crash to survive. */
  async appendAll(entries: readonly LogEntry[]): Promise<StoredReceipt[]> {
    for (const { json } of entries) this.#guard.check(Buffer.from(json))
    return await Promise.all(entries.map((entry) => this.append('journal', entry)))
  }

  async revise(revision: Omit<Revision, 'rev' | 'at'>): Promise<void> {
    this.#assertHeld()
    this.session.manifest = revised(this.session.manifest, Date.now(), revision)
  }

  async release(): Promise<void> {
    if (this.session.holder === this.#holder) this.session.holder = undefined
  }

  #assertHeld(): void {
    if (this.session.holder !== this.#holder) throw sessionFenced(this.manifest.session_id)
  }
}
