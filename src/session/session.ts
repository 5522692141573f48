import { failureOf } from './audit-acts.ts'
import type { UnsettledAct } from './audit-record.ts'
import { errorCode } from '../base/errors/stint-error.ts'
import type { AppendOptions, Entry, HeldSession, Receipt } from './driver.ts'
import { takeLatest, visibleEvents } from './events.ts'
import type { Manifest } from './manifest.ts'
import { eventEntry } from './new-entry.ts'
import { checkTexts } from './opening.ts'
import { type Act, type ActOutcome, SessionActs } from './session-acts.ts'
import type { SessionSecrets } from './session-secrets.ts'
import { checkExtension, openSlot, type Slot, type SlotOptions } from './slot.ts'
import { isWorthIt } from './snapshot-policy.ts'
import { slotType, turnType } from './state.ts'
import type {
  EventOptions,
  ForkOptions,
  NewAudit,
  NewEvent,
  RecoveryReport,
  SessionEvent,
  SnapshotPolicy,
} from './store.ts'
import { takeSnapshot, trySnapshot } from './take-snapshot.ts'

/** What a session asks of its store. */
export interface SessionContext {
  held: HeldSession
  secrets: SessionSecrets
  snapshots: SnapshotPolicy
  fork: (options: ForkOptions) => Promise<Session>
  /** After the lock was given back: visitors may have left something in the last moment. */
  released: () => Promise<void>
}

const beatMs = 30_000
const spoolMs = 1000

/**
 * A session held for writing. Whatever resolves is on disk. Close it, or let `await using` do so.
 *
 * @example
 * await using session = await store.resume(id)
 * const todo = session.slot<string[]>('todo', { version: '1', initial: [] })
 * await todo.set([...todo.value, 'water the plants'])
 * await session.act({ action: 'shell', subject: 'rm -rf build', key: 'clean-1' }, () => rm('build'))
 * await session.turn()
 */
export class Session implements AsyncDisposable {
  /** `secrets.resolve(ref)` gives a value to the program and keeps it off the disk. */
  readonly secrets: SessionSecrets
  readonly #context: SessionContext
  readonly #held: HeldSession
  readonly #timers: NodeJS.Timeout[]
  readonly #acts: SessionActs
  /** What this process has set: whoever has the same slot open sees it. */
  readonly #lastSet = new Map<string, { version: string; value: unknown }>()
  readonly #warnings: string[] = []
  /** The last record before the disk was full. */
  #fullAfter: number | undefined
  #spooling: Promise<void> | undefined
  #closing: Promise<void> | undefined

  /** Made by a store. */
  constructor(context: SessionContext) {
    this.#context = context
    this.#held = context.held
    this.secrets = context.secrets
    this.#acts = new SessionActs(context.held, context.secrets.gate)
    this.#timers = [
      setInterval(() => this.#quietly(() => this.#held.beat()), beatMs).unref(),
      setInterval(() => this.#quietly(() => this.#takeSpool()), spoolMs).unref(),
    ]
  }

  get id(): string {
    return this.#held.manifest.session_id
  }

  get manifest(): Manifest {
    return this.#held.manifest
  }

  /** The last record that is on disk. */
  get lastSeq(): number {
    return this.#held.lastSeq
  }

  get turns(): number {
    return this.#held.state.turns
  }

  /** What recovery found and did. */
  get report(): RecoveryReport {
    return this.#held.report
  }

  /** Drifted slots that were taken as they are. */
  get warnings(): readonly string[] {
    return this.#warnings
  }

  /** Resolves when the event is on disk. With `durable: false` it may wait up to 50 ms for the next sync. */
  append(event: NewEvent, { durable }: Pick<AppendOptions, 'durable'> = {}): Promise<Receipt> {
    return this.#put(() => eventEntry(event, this.secrets.gate), { durable })
  }

  /** The end of a turn: recorded, and followed by a snapshot if that is worth it. */
  async turn(data?: unknown): Promise<{ turn: number; seq: number; snapshot: boolean }> {
    await this.#takeSpool()
    const { state } = this.#held
    let turn = 0
    const entry = (): Entry => ({ type: turnType, json: this.secrets.gate.stringify(data) })
    const { seq } = await this.#put(entry, { applied: () => (turn = ++state.turns) })
    const { snapshots } = this.#context
    const worthIt = snapshots.at === 'turn' && isWorthIt(snapshots, this.#held.sinceSnapshot)
    return { turn, seq, snapshot: worthIt && (await trySnapshot(this.#held, this.secrets.gate)) }
  }

  /** The state of one extension; see `SlotOptions` for what happens when its version has changed. */
  slot<T>(ext: string, options: SlotOptions<T>): Slot<T> {
    checkExtension(ext)
    const { value, warning } = openSlot(ext, this.#held.state.slots.get(ext), options)
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

  /** Gives a slot that cannot be read a new value, so that it can be opened again. */
  async resetSlot(ext: string, version: string, value: unknown): Promise<void> {
    checkExtension(ext)
    await this.#setSlot(ext, version, value)
  }

  async #setSlot(ext: string, version: string, value: unknown): Promise<void> {
    const json = this.secrets.gate.stringify(value)
    const applied = (): void => {
      this.#lastSet.set(ext, { version, value })
      this.#held.state.slots.set(ext, { version, value: JSON.parse(json) as unknown })
    }
    await this.#put(() => ({ type: slotType, json, slot: { ext, version } }), { applied })
  }

  /** A line in the audit log that stands alone: an approval, a decision. Resolves when it is on disk. */
  async audit(entry: NewAudit): Promise<{ seq: number; hash: string }> {
    return await this.#acts.record(entry)
  }

  /**
   * Does something, with its intent on disk before it and its outcome after. With a key it is done once: a settled act gives its recorded result without
   * being done again, one that failed is `ACT_FAILED`, and one whose outcome nobody knows is `ACT_UNCERTAIN`, unless `again` says otherwise. If the intent
   * cannot be written, nothing is done.
   */
  async act<T>(act: Act, fn: () => Promise<T> | T, { again = false } = {}): Promise<T> {
    return await this.#acts.act(act, fn, again)
  }

  /** Records how an act ended, for one whose outcome is missing. */
  async settle(act: string, outcome: ActOutcome): Promise<void> {
    await this.#acts.settle(act, outcome)
  }

  /** Acts that were begun and have no recorded outcome: done, not done, or half done. */
  unsettled(): UnsettledAct[] {
    return this.#acts.unsettled()
  }

  /** The next resume begins here, instead of replaying what came before. */
  async snapshot(): Promise<void> {
    await takeSnapshot(this.#held, this.secrets.gate)
  }

  /** Changes what the session is called, where it works, or its mode: a new revision of the manifest. */
  async annotate({
    title,
    workspace,
    mode,
  }: {
    title?: string
    workspace?: string
    mode?: string
  }): Promise<void> {
    const facts = { title, workspace, mode }
    checkTexts(facts)
    const { gate } = this.secrets
    await this.#held.revise({ kind: 'annotate', ...(JSON.parse(gate.stringify(facts)) as object) })
  }

  /** The session's events from a position on, without holding them in memory. */
  events(options: EventOptions = {}): AsyncIterable<SessionEvent> {
    return visibleEvents((range) => this.#held.events(range), options)
  }

  /** The newest events, oldest first. */
  async tail(count: number): Promise<SessionEvent[]> {
    return await takeLatest(this.#held.eventsBackwards(), count)
  }

  /** A copy up to a record, with a new id and held for writing; this one goes on. */
  async fork(options: ForkOptions = {}): Promise<Session> {
    return await this.#context.fork(options)
  }

  /** Takes in what visitors left, snapshots, records that it was closed and where, and gives the lock back. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    const held = this.#held
    try {
      await this.#takeSpool()
      // Records that nobody has waited for count, too: the revision says where the logs end.
      await held.flush()
      if (held.sinceSnapshot.records > 0) await trySnapshot(this.#held, this.secrets.gate)
      await held.revise({ kind: 'close', ...held.ends(), turns: held.state.turns })
    } finally {
      await held.release()
    }
    await this.#context.released()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** As few promises as can be: each costs as much as a line. */
  #put(entry: () => Entry, options: AppendOptions): Promise<Receipt> {
    try {
      return this.#held.append(entry(), options).catch((error: unknown) => this.#noteFailure(error))
    } catch (error) {
      return this.#noteFailure(error)
    }
  }

  /** A full disk is noted in the audit log, where room is kept for that; once, until something can be written again. */
  async #noteFailure(error: unknown): Promise<never> {
    if (errorCode(error) === 'DISK_FULL' && this.#fullAfter !== this.lastSeq) {
      this.#fullAfter = this.lastSeq
      await this.#quietly(() => this.#acts.record({ action: 'append', ok: false, detail: failureOf(error) }))
    }
    throw error
  }

  #takeSpool(): Promise<void> {
    this.#spooling ??= this.#takeSpoolIn().finally(() => (this.#spooling = undefined))
    return this.#spooling
  }

  async #takeSpoolIn(): Promise<void> {
    await this.#held.takeSpool(await this.#acts.listener())
  }

  /** For what nobody waits for: a failure shows at the next append. */
  async #quietly(act: () => unknown): Promise<void> {
    try {
      await act()
    } catch {
      // Fenced, for example, or a disk that is full.
    }
  }
}
