import type { MeasuredSessions } from './files/disk-use.ts'
import type { Repair } from './files/repair.ts'
import type { LogEnds, LogName } from './log/log-end.ts'
import type { Manifest, Revision } from './manifest.ts'
import type { FoundRecord, SearchQuery } from './search-query.ts'
import type { FoldedState } from './state.ts'
import type {
  AppendOptions,
  Health,
  Holder,
  ListOptions,
  Receipt,
  RecoveryReport,
  RemoveOptions,
  SessionSummary,
} from './store.ts'
import type { SessionTransfer } from './transfer.ts'

/**
 * A medium that keeps sessions: files, a database, memory. `createStore` turns a driver into a store: it adds
 * slots, acts, turns, secrets, visits and waiting, which are the same on every medium.
 *
 * The driver provides one writer per session, records that are durable when a promise resolves, and reading.
 * Session ids are checked and entries are free of secrets when they arrive here. Failures are `StintError`s
 * with the codes named below; `stint/driver` exports a function for each.
 *
 * Everything marked optional has a default that uses the required members.
 */
export interface StoreDriver {
  /** Written into each manifest. A session is resumed only through a store with the same id. */
  readonly id: string
  /** Creates a session with this manifest and takes it. `NAME_TAKEN` if the session exists. */
  create(manifest: Manifest, hold: SessionHold, guard: WriteGuard): Promise<HeldSession>
  /** Takes an existing session. `NOT_FOUND`; `SESSION_LOCKED` while a living process holds it. */
  open(id: string, hold: SessionHold, guard: WriteGuard): Promise<HeldSession>
  /** Opens a session for reading, without a lock and even while another process writes. `NOT_FOUND`. */
  read(id: string): Promise<ReadableSession>
  /**
   * Lists the sessions. A driver may ignore the options, because the store applies them again; a driver that
   * applies `newest` must apply the other options first.
   */
  list(options: ListOptions): Promise<SessionSummary[]>
  /** Takes the session away from its holder, dead or alive, and returns that holder. `NOT_FOUND`. */
  unlock(id: string): Promise<Holder | undefined>
  /**
   * Removes a session and frees its id, with `purge` also whatever could bring it back. `NOT_FOUND`;
   * `SESSION_LOCKED` while a living process holds it.
   */
  remove(id: string, options: RemoveOptions): Promise<void>

  /** Optional: faster than the holder in `read(id)`. `NOT_FOUND`. */
  holder?(id: string): Promise<Holder | undefined>
  /** Optional: notes that this process waits for the session. Without it, holders do not hear of that. */
  want?(id: string): Promise<void>
  /** Optional: for which of these sessions any process has called `want` since this was last asked. */
  wanted?(ids: readonly string[]): Promise<readonly string[]>
  /** Optional: all ids, or those that begin with `prefix` or `ses_<prefix>`; by default those in `list`. */
  ids?(prefix: string): Promise<string[]>
  /**
   * Optional: copies a session up to record `at` (all of it if undefined) into a new one that is not held,
   * at once or not at all. By default the store appends copies of the records to a session that it creates.
   */
  fork?(from: string, at: number | undefined, manifestAt: (seq: number) => Manifest): Promise<void>
  /** Optional: the sessions that were removed and can be brought back, newest removal first. */
  removed?(): Promise<RemovedSession[]>
  /** Optional: brings a removed session back, not held, and returns its id. `NOT_FOUND`, `NAME_TAKEN`. */
  restore?(name: string): Promise<string>
  /** Optional: measures every session by kind, and those that are removed. */
  diskUse?(): Promise<MeasuredSessions>
  /** Optional: makes lists show a session as damaged, and makes writers verify it first. */
  noteDamage?(id: string, what: string): Promise<void>
  /** Optional: what a user can do about a damaged session, if this driver cannot repair it. */
  readonly damageHint?: string
  /** Optional: copies sessions, line by line, to and from stores of other kinds. */
  readonly transfer?: TransferDriver
  /** Optional: what only a driver that keeps its sessions in files can do. */
  files?(): Promise<SessionFiles>
}

/** The operations that only a store in plain files has. */
export interface SessionFiles {
  /** The directory of removed sessions, until the sweep deletes them. */
  readonly trash: string
  /** The directory of a session. */
  path(id: string): string
  /** The paths of everything that was cut off or set aside. */
  quarantined(id: string): string[]
  /** Copies what is intact of a damaged session into a new one; a dry run only says what that is. */
  repair(id: string, isDryRun: boolean): Promise<Repair>
}

/** A session that was removed, and not deleted yet. */
export interface RemovedSession {
  /** Identifies it among the removed ones: several may have had the same id. */
  name: string
  id: string
  title?: string
  /** Milliseconds since the epoch. */
  removedAt: number
}

/** Why a session is taken, as other processes see it. */
export interface SessionHold {
  kind: Holder['kind']
  purpose?: string
}

/** The second defence against secrets on disk: entries arrive redacted, finished bytes are checked. */
export interface WriteGuard {
  /** Throws if the bytes contain a registered secret. Call it right before writing them. */
  check(bytes: Uint8Array): void
}

/** The readable part of a session, held or not. */
export interface SessionRecords {
  /** The newest manifest. */
  readonly manifest: Manifest
  /**
   * Reads one of the two logs in order, up to the first record that is missing or damaged. A held session
   * shows acknowledged records only.
   */
  records(log: LogName, range?: RecordRange): AsyncIterable<StoredRecord>
  /** Optional: reads the journal from its end. By default the store reads all of it. */
  newestFirst?(): AsyncIterable<StoredRecord>
}

/** A session opened for reading. */
export interface ReadableSession extends SessionRecords {
  readonly summary: SessionSummary
  /** Optional: the slots, turns and unsettled acts; by default the store replays both logs. */
  state?(): Promise<FoldedState>
  /**
   * Optional: finds records of the journal that match, newest first. By default the store reads all of them.
   * `onBytes` is called with the size of each piece that was searched.
   */
  search?(query: SearchQuery, onBytes: (bytes: number) => void): AsyncIterable<FoundRecord>
  /** Optional: reads everything and reports damage, with progress. By default the store reads both logs. */
  verify?(onBytes?: (done: number) => void): Promise<Health>
}

/**
 * A session held for writing. Once another process has taken the session, every method that writes fails with
 * `FENCED`, and nothing that this holder writes is read. Methods that only read may still succeed, and so may
 * `flush` if there is nothing to write.
 */
export interface HeldSession extends SessionRecords {
  /** The `seq` of the last acknowledged journal record. */
  readonly lastSeq: number
  /** Appends a record. Resolves when it is durable; rejects, and never throws; `DISK_FULL` without room. */
  append(log: LogName, entry: LogEntry, options?: RecordOptions): Promise<StoredReceipt>
  /** Appends several records to the journal: after any crash all of them are there, or none. */
  appendAll(entries: readonly LogEntry[], options?: AppendOptions): Promise<StoredReceipt[]>
  /** Adds a revision to the manifest (`revised` makes the new manifest). */
  revise(revision: Omit<Revision, 'rev' | 'at'>): Promise<void>
  /** Gives the session back. Called last, and again if it was rejected. */
  release(): Promise<void>

  /** Optional: what the driver found when it opened the session. By default the store replays both logs. */
  readonly recovered?: Recovery
  /** Optional, for drivers that gather records: writes them, so that each is durable or rejected. */
  flush?(): Promise<void>
  /**
   * Optional: saves the state, so that the next recovery begins here; `payloadOf` returns the JSON of a
   * slot's value. Returns the `seq` of the last record in it. Without snapshots a resume replays everything.
   * With `isClosing` the session is about to be closed, and a power cut may lose the snapshot.
   */
  snapshot?(state: FoldedState, payloadOf: (slot: string) => string, isClosing?: boolean): Promise<number>
  /** Optional: where both logs end; the close revision attests it. */
  ends?(): LogEnds
  /** Optional: called every 30 s to show other processes that the holder is alive. */
  beat?(): void | Promise<void>
}

/** The result of the recovery when a driver opened a session. A driver may skip recovery for a visitor. */
export interface Recovery {
  /** The slots, turns and unsettled acts. The session changes this object from here on. */
  state: FoldedState
  report: RecoveryReport
  /** Bytes of the journal after the snapshot that recovery began with. */
  bytes: number
  /** Should a visitor take a snapshot, because no writer has taken one for a long time? */
  snapshotDue: boolean
}

/** A record on its way to a log. */
export interface LogEntry {
  type: string
  /** The data as JSON; of any size. */
  json: string
  /** Which slot it sets; the data is the new value. */
  slot?: { ext: string; version: string }
  /** Were secrets or tokens in it replaced? The record says so, too. */
  masked?: boolean
}

export interface RecordOptions extends AppendOptions {
  /** Called synchronously when the record is durable, before a snapshot could be taken without its effect. */
  applied?: (receipt: StoredReceipt) => void
  /** When the record was written, in ms since the epoch: set for copies, in drivers without `fork`. */
  at?: number
}

/** A durable record: its number, and in the audit log its hash. */
export interface StoredReceipt extends Receipt {
  hash?: string
}

/** A record as it was stored. */
export interface StoredRecord extends StoredReceipt {
  type: string
  data: unknown
  slot?: { ext: string; version: string }
  masked?: boolean
}

/** The first and the last `seq` to read; all by default. */
export interface RecordRange {
  from?: number
  to?: number
}

/** Copies sessions between stores of different kinds. */
export interface TransferDriver {
  /** Verifies a session and opens it for copying. `SESSION_LOCKED`, `JOURNAL_CORRUPT`, `AUDIT_CORRUPT`. */
  read(id: string): Promise<SessionTransfer>
  /** Creates a session from a transfer, whole or not at all, and returns its id. `NAME_TAKEN`. */
  write(transfer: SessionTransfer, id?: string): Promise<string>
}
