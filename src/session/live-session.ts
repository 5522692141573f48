import { errorCode } from '../base/errors/stint-error.ts'
import { checkStrings } from './create-manifest.ts'
import { closeAtEnd, giveBack } from './close-at-end.ts'
import { readLatest, visibleEvents } from './inspection.ts'
import { beatMs } from './files/lock-record.ts'
import { sessionClosed } from './session-errors.ts'
import { attestEnds, type LogName } from './log/codec.ts'
import type { LogEntry, StoredReceipt } from './log/record.ts'
import type { RecordOptions } from './log/writer.ts'
import type { Manifest } from './manifest.ts'
import { checkEvent, makeEventEntry, makeExactEntry, type RegisteredSecrets } from './entries.ts'
import { SessionActs } from './session-acts.ts'
import type { SessionLog } from './session-log.ts'
import type { Act, OpenAct, Session } from './session.ts'
import {
  checkExtension,
  type FoldedState,
  isCritical,
  isWorthIt,
  openSlot,
  type Slot,
  type SlotOptions,
  slotType,
  turnType,
} from './state.ts'
import type {
  AppendOptions,
  EventOptions,
  ForkOptions,
  NewAudit,
  NewEvent,
  Receipt,
  RecoveryReport,
  SessionEvent,
  SnapshotPolicy,
} from './store.ts'

/** The parts of a session that its store provides. */
interface SessionContext {
  held: SessionLog
  secrets: RegisteredSecrets
  snapshots: SnapshotPolicy
  fork: (options: ForkOptions) => Promise<Session>
}

/** `Array.isArray` does not tell TypeScript that a readonly array is one. */
const isList = (events: NewEvent | readonly NewEvent[]): events is readonly NewEvent[] =>
  Array.isArray(events)

/** The session of a store, on whatever driver: keeps the state up to date with what it writes. */
export class LiveSession implements Session {
  readonly secrets: RegisteredSecrets
  readonly report: RecoveryReport
  readonly #context: SessionContext
  readonly #held: SessionLog
  readonly #state: FoldedState
  readonly #beating: NodeJS.Timeout
  readonly #acts: SessionActs
  readonly #forget: () => void
  /** The values that this process has set, for all objects that have the same slot open. */
  readonly #lastSet = new Map<string, { version: string; value: unknown }>()
  readonly #warnings: string[] = []
  /** Is a snapshot of a long stretch under way, or has it failed, on a full disk for example? */
  #isSnapshotTried = false
  #recordedClose: Promise<void> | undefined
  #closing: Promise<void> | undefined
  #closed = false

  constructor(context: SessionContext) {
    const { held, secrets } = context
    const { state, report } = held.recovered
    this.#context = context
    this.#held = held
    this.#state = state
    this.report = report
    this.secrets = secrets
    this.#acts = new SessionActs(
      {
        append: (log, entry, options) => this.#append(log, entry, options),
        records: (log) => held.records(log),
      },
      state,
      secrets,
    )
    this.#beating = setInterval(() => this.#quietly(() => held.beat()), beatMs).unref()
    this.#forget = closeAtEnd(this)
  }

  get id(): string {
    return this.#held.manifest.session_id
  }

  get manifest(): Manifest {
    return this.#held.manifest
  }

  get lastSeq(): number {
    return this.#held.lastSeq
  }

  get turns(): number {
    return this.#state.turns
  }

  get warnings(): readonly string[] {
    return this.#warnings
  }

  append(event: NewEvent, options?: AppendOptions): Promise<Receipt>
  append(events: readonly NewEvent[], options?: AppendOptions): Promise<Receipt[]>
  append(events: NewEvent | readonly NewEvent[], options: AppendOptions = {}): Promise<Receipt | Receipt[]> {
    const { durable } = options
    if (isList(events)) return this.#withSnapshot(events, () => this.#appendAll(events, { durable }))
    return this.#context.snapshots.critical === undefined
      ? this.#appendOne(events, durable)
      : this.#withSnapshot([events], () => this.#appendOne(events, durable))
  }

  /** Rejects and never throws, without a promise of its own. */
  #appendOne(event: NewEvent, durable: boolean | undefined): Promise<Receipt> {
    try {
      return this.#put(makeEventEntry(event, this.secrets.gate), { durable })
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async #appendAll(events: readonly NewEvent[], options: AppendOptions): Promise<Receipt[]> {
    const entries = events.map((event) => makeEventEntry(event, this.secrets.gate))
    this.#assertOpen()
    if (entries.length === 0) return []
    const appended = this.#held.appendAll(entries, options)
    this.#snapshotIfOverdue()
    return await appended
  }

  /** Appends events, and takes a snapshot if one of them is critical. */
  async #withSnapshot<Receipts>(
    events: readonly NewEvent[],
    append: () => Promise<Receipts>,
  ): Promise<Receipts> {
    for (const event of events) checkEvent(event)
    const wanted = events.some((event) => isCritical(this.#context.snapshots, event))
    const receipts = await append()
    // The records are on disk: nothing that happens now may reject their append.
    if (wanted && this.#held.sinceSnapshot.records > 0) await this.#quietly(() => this.#trySnapshot())
    return receipts
  }

  async turn(data?: unknown): Promise<{ turn: number; seq: number; snapshot: boolean }> {
    let turn = 0
    const entry = makeExactEntry({ type: turnType, data }, this.secrets.gate)
    const { seq } = await this.#put(entry, { applied: () => (turn = ++this.#state.turns) })
    const { snapshots } = this.#context
    const worthIt = snapshots.at === 'turn' && isWorthIt(snapshots, this.#held.sinceSnapshot)
    return { turn, seq, snapshot: worthIt && (await this.#trySnapshot()) }
  }

  slot<T>(ext: string, options: SlotOptions<T>): Slot<T> {
    checkExtension(ext)
    const { value, warning } = openSlot(ext, this.#state.slots.get(ext), options)
    if (warning !== undefined) this.#warnings.push(warning)
    const { version } = options
    const lastSet = this.#lastSet
    return {
      ext,
      get value() {
        const last = lastSet.get(ext)
        return last?.version === version ? (last.value as T) : value
      },
      set: (next) => this.#setSlot(ext, version, next),
    }
  }

  async resetSlot(ext: string, version: string, value: unknown): Promise<void> {
    checkExtension(ext)
    await this.#setSlot(ext, version, value)
  }

  async #setSlot(ext: string, version: string, value: unknown): Promise<void> {
    const entry = makeExactEntry({ type: slotType, data: value, slot: { ext, version } }, this.secrets.gate)
    const applied = (): void => {
      this.#lastSet.set(ext, { version, value })
      this.#state.slots.set(ext, { version, value: JSON.parse(entry.json) as unknown })
    }
    await this.#put(entry, { applied })
  }

  async audit(entry: NewAudit): Promise<{ seq: number; hash: string }> {
    return await this.#acts.record(entry)
  }

  async act<T>(act: Act, perform: () => Promise<T> | T, { again = false } = {}): Promise<T> {
    return await this.#acts.act(act, perform, again)
  }

  unsettled(): OpenAct[] {
    return [...this.#state.unsettled.values()].map((act) => ({
      ...act,
      settle: (outcome) => this.#acts.settle(act, outcome),
    }))
  }

  async snapshot(): Promise<void> {
    await this.#snapshot()
  }

  async #snapshot(isClosing = false): Promise<void> {
    this.#assertOpen()
    await this.#held.snapshot(isClosing)
  }

  async annotate({ title, workspace, mode }: Parameters<Session['annotate']>[0]): Promise<void> {
    const facts = { title, workspace, mode }
    checkStrings(facts)
    this.#assertOpen()
    const clean = JSON.parse(this.secrets.gate.stringify(facts)) as object
    await this.#held.revise({ kind: 'annotate', ...clean })
  }

  events(options: EventOptions = {}): AsyncIterable<SessionEvent> {
    return visibleEvents(this.#held, options)
  }

  async tail(count: number): Promise<SessionEvent[]> {
    return await readLatest(this.#held, count)
  }

  async fork(options: ForkOptions = {}): Promise<Session> {
    return await this.#context.fork(options)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#stopBeating()
    this.#recordedClose ??= this.#recordClose()
    try {
      await this.#recordedClose
    } finally {
      this.#closed = true
      await giveBack(this.#held).catch((error: unknown) => {
        // The caller may try again, when the disk has room for example.
        this.#closing = undefined
        if (errorCode(error) === 'FENCED') this.#forget()
        throw error
      })
      this.#forget()
    }
  }

  async #recordClose(): Promise<void> {
    const held = this.#held
    // Commit records that no caller has awaited, too: the revision attests where the logs end.
    await held.flush()
    if (held.sinceSnapshot.records > 0) await this.#trySnapshot(true)
    await held.revise({ kind: 'close', ...attestEnds(held.ends) })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** A failure does not matter: a snapshot is a cache, and without it the next resume only takes longer. */
  async #trySnapshot(isClosing = false): Promise<boolean> {
    try {
      await this.#snapshot(isClosing)
      return true
    } catch (error) {
      if (errorCode(error) === 'FENCED') throw error
      return false
    }
  }

  /** Appends to the journal with as few promises and closures as possible: each costs as much as a line. */
  #put(entry: LogEntry, options: RecordOptions): Promise<StoredReceipt> {
    return this.#append('journal', entry, options)
  }

  #append(log: LogName, entry: LogEntry, options?: RecordOptions): Promise<StoredReceipt> {
    this.#assertOpen()
    const appended = this.#held.append(log, entry, options)
    this.#snapshotIfOverdue()
    return appended
  }

  /** A session without turns takes a snapshot after a long stretch without one. */
  #snapshotIfOverdue(): void {
    const isOverdue = this.#held.isSnapshotOverdue
    if (!isOverdue) this.#isSnapshotTried = false
    if (!isOverdue || this.#isSnapshotTried || this.#context.snapshots.at === 'never') return
    this.#isSnapshotTried = true
    void this.#quietly(() => this.#trySnapshot())
  }

  #assertOpen(): void {
    if (this.#closed) throw sessionClosed()
  }

  /** Runs work that no caller depends on. A failure shows at the next append. */
  async #quietly(act: () => unknown): Promise<void> {
    try {
      await act()
    } catch (error) {
      // The session belongs to another process now.
      if (errorCode(error) === 'FENCED') this.#stopBeating()
    }
  }

  #stopBeating(): void {
    clearInterval(this.#beating)
  }
}
