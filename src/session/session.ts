import type { Slot, SlotOptions } from './state.ts'
import type { Manifest } from './manifest.ts'
import type { SessionSecrets } from './entries.ts'
import type {
  AppendOptions,
  EventOptions,
  ForkOptions,
  NewAudit,
  NewEvent,
  Receipt,
  RecoveryReport,
  SessionEvent,
  UnsettledAct,
} from './store.ts'

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
export interface Session extends AsyncDisposable {
  readonly id: string
  readonly manifest: Manifest
  /** The last record that is on disk. */
  readonly lastSeq: number
  readonly turns: number
  /** The report of the recovery that opened the session. */
  readonly report: RecoveryReport
  /** Slots of another version that were taken as they are. */
  readonly warnings: readonly string[]
  /** `secrets.resolve(ref)` gives a value to the program and keeps it off the disk. */
  readonly secrets: SessionSecrets

  /** Appends an event. Resolves when it is on disk; with `durable: false` it waits up to 50 ms for others. */
  append(event: NewEvent, options?: AppendOptions): Promise<Receipt>
  /** Appends events that belong together: whatever happens, all of them are there, or none. */
  append(events: readonly NewEvent[], options?: AppendOptions): Promise<Receipt[]>
  /** Records the end of a turn, and takes a snapshot if the policy says so and enough was written. */
  turn(data?: unknown): Promise<{ turn: number; seq: number; snapshot: boolean }>
  /** Opens the state of one extension; see `SlotOptions` for what happens when its version has changed. */
  slot<T>(ext: string, options: SlotOptions<T>): Slot<T>
  /** Gives a slot that cannot be read a new value, so that it can be opened again. */
  resetSlot(ext: string, version: string, value: unknown): Promise<void>
  /** Adds a line to the audit log that stands alone: an approval, a decision. Resolves when it is on disk. */
  audit(entry: NewAudit): Promise<{ seq: number; hash: string }>
  /**
   * Performs an act, with its intent on disk before it and its outcome after it. If the intent cannot be
   * written, the act is not performed. With a key it is performed once: a settled act returns its recorded
   * result, one that failed is `ACT_FAILED`, and one without an outcome is `ACT_UNCERTAIN`, unless `again`
   * says otherwise. The call that performs an act with a key returns the recorded result, too: what JSON
   * keeps of it, with secrets replaced.
   */
  act<T>(act: Act, perform: () => Promise<T> | T, options?: { again?: boolean }): Promise<T>
  /**
   * The acts that were begun and have no recorded outcome: done, not done, or half done. Find out which, and
   * record it with `settle`.
   *
   * @example
   * for (const act of session.unsettled()) await act.settle({ ok: true, result: await lookUp(act.subject) })
   */
  unsettled(): OpenAct[]
  /** Takes a snapshot, whatever the policy says: the next resume begins here. */
  snapshot(): Promise<void>
  /** Changes these facts: a new revision of the manifest. */
  annotate(facts: { title?: string; workspace?: string; mode?: string }): Promise<void>
  /** Reads the events in order or from the end, without keeping them. */
  events(options?: EventOptions): AsyncIterable<SessionEvent>
  /** The newest events, oldest first. */
  tail(count: number): Promise<SessionEvent[]>
  /** Copies the session up to a record, under a new id and held for writing; this one goes on. */
  fork(options?: ForkOptions): Promise<Session>
  /**
   * Takes a snapshot, records the close and gives the session back. If the close cannot be recorded, on a
   * full disk for example, the session counts as crashed. If it cannot be given back, call this again.
   */
  close(): Promise<void>
}

/** An act to be recorded before and after it is performed. */
export interface Act extends Pick<NewAudit, 'action' | 'subject' | 'key' | 'detail'> {}

/** An act without an outcome. `settle` records how it ended. */
export interface OpenAct extends UnsettledAct {
  settle(outcome: ActOutcome): Promise<void>
}

/** How an act ended. A later `act` with its key returns the result, so one that is done needs a `result`. */
export type ActOutcome =
  | { ok: true; result: unknown }
  | { ok: false; error?: { code?: string; message: string } }
