import {
  type CutBytes,
  createStore,
  emptyLogEnds,
  type HeldMedium,
  type Holder,
  type LogEnds,
  type LogGroup,
  type LogName,
  type Manifest,
  type Medium,
  newHolder,
  type ReadableMedium,
  type Region,
  type RegionRange,
  sessionExists,
  sessionFenced,
  type SessionHold,
  sessionLocked,
  sessionNotFound,
  type SessionStore,
  type SessionSummary,
  summarize,
} from 'stint/driver'

/** What is kept of one session. */
interface MemorySession {
  manifest: Manifest
  groups: Record<LogName, LogGroup[]>
  blobs: Map<string, Uint8Array>
  texts: Map<string, string>
  epoch: number
  isWanted: boolean
  holder?: Holder
  damage?: string
}

/** All sessions, by id. Media on the same map are like processes on the same disk. */
export type Memory = Map<string, MemorySession>

export const memoryStore = (memory: Memory = new Map()): SessionStore => createStore(memoryMedium(memory))

const newSession = (manifest: Manifest): MemorySession => {
  const groups = { journal: [], audit: [] }
  return { manifest, groups, blobs: new Map(), texts: new Map(), epoch: 0, isWanted: false }
}

/** Keeps sessions in the memory of this process. */
export function memoryMedium(memory: Memory): Medium {
  function find(id: string): MemorySession {
    const session = memory.get(id)
    if (session === undefined) throw sessionNotFound(id)
    return session
  }

  /** A medium that outlives its processes would look whether the holder is still alive. */
  function findFree(id: string, force = false): MemorySession {
    const session = find(id)
    if (session.holder !== undefined && !force) throw sessionLocked(id, session.holder)
    return session
  }

  function add(session: MemorySession): void {
    const { session_id: id } = session.manifest
    if (memory.has(id)) throw sessionExists(id)
    memory.set(id, session)
  }

  return {
    id: 'memory',
    async create(manifest, hold) {
      add(newSession(manifest))
      return new HeldMemory(find(manifest.session_id), hold, () => memory.delete(manifest.session_id))
    },
    open: async (id, hold) => new HeldMemory(findFree(id, hold.force), hold, () => {}),
    read: async (id) => new ReadableMemory(find(id)),
    async load(manifest, contents) {
      const session = newSession(manifest)
      for (const log of ['journal', 'audit'] as const)
        for await (const group of contents.groups(log)) session.groups[log].push(group)
      for await (const { sha256, content } of contents.blobs()) session.blobs.set(sha256, content)
      add(session)
    },
    list: async () => [...memory.values()].map((session) => new ReadableMemory(session).summary),
    async remove(id) {
      findFree(id)
      memory.delete(id)
    },
    noteDamage: async (id, what) => void (find(id).damage = what),
    want: async (id) => void (find(id).isWanted = true),
    async wanted(ids) {
      const wanted = ids.filter((id) => memory.get(id)?.isWanted)
      for (const id of wanted) find(id).isWanted = false
      return wanted
    },
  }
}

class ReadableMemory implements ReadableMedium {
  protected readonly session: MemorySession

  constructor(session: MemorySession) {
    this.session = session
  }

  get manifest(): Manifest {
    return this.session.manifest
  }

  get ends(): LogEnds {
    const { journal, audit } = this.session.groups
    const { journal: noRecords, audit: noLines } = emptyLogEnds
    return { journal: journal.at(-1)?.end ?? noRecords, audit: audit.at(-1)?.end ?? noLines }
  }

  get summary(): SessionSummary {
    const { manifest, groups, holder, damage } = this.session
    return summarize(manifest, {
      state: holder !== undefined ? 'active' : damage === undefined ? 'closed' : 'damaged',
      records: this.ends.journal.seq,
      lastAt: groups.journal.at(-1)?.lastAt,
      bytes: groups.journal.reduce((sum, { lines }) => sum + lines.length, 0),
      holder,
    })
  }

  /** Begins with the first group, or the last: more lines than were asked for do no harm. */
  async *regions(log: LogName, { backwards }: RegionRange): AsyncGenerator<Region> {
    const groups = this.session.groups[log]
    for (const { lines } of backwards ? groups.toReversed() : [...groups])
      yield { bytes: lines, segment: '', offset: 0 }
  }

  async *blob(sha256: string): AsyncGenerator<Uint8Array> {
    const content = this.session.blobs.get(sha256)
    if (content !== undefined) yield content
  }

  async state(names: readonly string[]): Promise<Map<string, string>> {
    return new Map([...this.session.texts].filter(([name]) => names.includes(name)))
  }
}

class HeldMemory extends ReadableMemory implements HeldMedium {
  readonly epoch: number
  readonly previous: Holder | undefined
  readonly damage: string | undefined
  readonly #holder: Holder
  readonly #undo: () => void
  #isBegun = false

  constructor(session: MemorySession, hold: SessionHold, undo: () => void) {
    super(session)
    this.previous = session.holder
    this.damage = session.damage
    this.epoch = session.epoch += 1
    this.#holder = session.holder = newHolder(hold, this.epoch)
    this.#undo = undo
  }

  /** Nothing is ever torn here. */
  async begin(): Promise<CutBytes[]> {
    this.#isBegun = true
    return []
  }

  async append(log: LogName, group: LogGroup): Promise<LogGroup['end']> {
    this.#heldSession().groups[log].push(group)
    return group.end
  }

  async putBlob(sha256: string, content: Uint8Array): Promise<void> {
    this.#heldSession().blobs.set(sha256, content)
  }

  async saveState(texts: ReadonlyMap<string, string>): Promise<void> {
    for (const [name, text] of texts) this.#heldSession().texts.set(name, text)
  }

  async saveManifest(manifest: Manifest): Promise<void> {
    this.#heldSession().manifest = manifest
  }

  async beat(): Promise<void> {
    this.#heldSession().holder = Object.assign(this.#holder, { beat: Date.now() })
  }

  async release(): Promise<void> {
    if (this.session.holder === undefined) return
    this.#heldSession().holder = this.#isBegun ? undefined : this.previous
    if (!this.#isBegun) this.#undo()
  }

  #heldSession(): MemorySession {
    if (this.session.holder !== this.#holder) throw sessionFenced(this.manifest.session_id)
    return this.session
  }
}
