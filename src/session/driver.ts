import type { AuditRecord } from './audit-record.ts'
import type { AuditCheckpoint } from './log/audit-checkpoint.ts'
import type { LogRecord } from './log/record.ts'
import type { Manifest, Revision } from './manifest.ts'
import type { FoldedState } from './state.ts'
import type { Health, Holder, ListOptions, RecoveryReport, SessionSummary } from './store.ts'

/**
 * What a store asks of the medium that keeps its sessions: one writer at a time, records that are on disk when a promise resolves, and a
 * recovery that tells a tear from damage. Everything else (slots, acts, turns, secrets) stands on these calls and is the same for every medium. Texts that
 * arrive here are free of secrets.
 */
export interface StoreDriver {
  /** Written into each manifest. */
  readonly id: string
  /** A new session with this manifest, held. `NAME_TAKEN` if the id is. */
  create(manifest: Manifest, hold: Hold, guard: WriteGuard): Promise<HeldSession>
  /** Takes the lock and recovers: `NOT_FOUND`, `RESUME_MISMATCH` (before anything else is read), `SESSION_LOCKED`, `JOURNAL_CORRUPT`, `AUDIT_CORRUPT`. */
  open(id: string, hold: Hold, guard: WriteGuard): Promise<HeldSession>
  /** To read, without a lock. */
  read(id: string): Promise<ReadableSession>
  list(options: ListOptions): Promise<SessionSummary[]>
  /** A new session, not held, with what another has up to a record (by default, all of it), and with the manifest for that. */
  fork(from: string, at: number | undefined, id: string, manifestAt: (seq: number) => Manifest): Promise<void>
  /** Leaves entries for whoever holds the session. */
  spool(id: string, entries: readonly SpoolEntry[]): Promise<void>
  /** Is something left there? */
  hasSpool(id: string): Promise<boolean>
  /** Who holds it, alive or not. */
  holder(id: string): Promise<Holder | undefined>
  /** Ends a hold, whoever has it; who had it. */
  unlock(id: string): Promise<Holder | undefined>
  remove(id: string): Promise<void>
}

/** Why a session is taken, as other processes see it. */
export interface Hold {
  kind: Holder['kind']
  purpose?: string
}

/** Keeps secrets out of everything that a driver writes for the holder of a session. */
export interface WriteGuard {
  /** Throws if the finished bytes contain a registered secret. Call it right before writing. */
  check(bytes: Uint8Array): void
  /** Returns the entry of a visitor without the secrets that only the holder knows. */
  redact<E extends Entry>(entry: E): E
}

/** A record on its way to a log: its type, and the JSON text of its data. */
export interface Entry {
  type: string
  json: string
  slot?: { ext: string; version: string }
  /** Set for an entry that is taken in from the spool: identifies it in the log, so that it is taken in once. */
  spool?: string
}

/** What a visitor leaves. */
export interface SpoolEntry extends Entry {
  log: 'journal' | 'audit'
}

/** A record that is on disk. */
export interface Receipt {
  seq: number
  /** Milliseconds since the epoch. */
  at: number
}

export interface AppendOptions {
  /** False: it may wait for others, but no longer than a moment. */
  durable?: boolean
  /** Called when the record counts, before anything else can happen: a snapshot must not come between a record and its effect. */
  applied?: (receipt: Receipt) => void
}

export interface ReadableSession {
  readonly manifest: Manifest
  readonly summary: SessionSummary
  events(range?: { from?: number; to?: number }): AsyncIterable<LogRecord>
  eventsBackwards(): AsyncIterable<LogRecord>
  audit(): AsyncIterable<AuditRecord>
  /** The state as it is now, from the newest snapshot on. */
  state(): Promise<FoldedState>
  /** Reads all of it; `onBytes` hears how far it has come. */
  verify(onBytes?: (done: number) => void): Promise<Health>
}

/** A session held for writing. */
export interface HeldSession {
  readonly manifest: Manifest
  /** As recovered; the session keeps it up from here. */
  readonly state: FoldedState
  readonly report: RecoveryReport
  /** Acknowledged so far. */
  readonly lastSeq: number
  /** Written since the last snapshot. */
  readonly sinceSnapshot: { records: number; bytes: number }
  /** Has so much been written since the last snapshot that a visitor should take one? */
  readonly snapshotDue: boolean
  /** Resolves when it is on disk; data over 256 KiB is kept apart. */
  append(entry: Entry, options?: AppendOptions): Promise<Receipt>
  audit(entry: Entry, applied?: (record: AuditRecord) => void): Promise<{ seq: number; hash: string }>
  /** On return everything that was asked for so far is on disk, or was refused. */
  flush(): Promise<void>
  revise(revision: Omit<Revision, 'rev' | 'at'>): Promise<void>
  /** Everything so far is on disk, and the next recovery begins here. */
  snapshot(state: FoldedState, payloadOf: (ext: string) => string): Promise<void>
  /** Takes in what visitors have left; `applied` hears of the audit records among it. */
  takeSpool(applied: (record: AuditRecord) => void): Promise<void>
  /** Where both logs end. */
  ends(): { seq: number; crc: string; audit: AuditCheckpoint }
  events(range?: { from?: number; to?: number }): AsyncIterable<LogRecord>
  eventsBackwards(): AsyncIterable<LogRecord>
  auditRecords(): AsyncIterable<AuditRecord>
  /** Says that the holder lives. */
  beat(): void | Promise<void>
  /** Gives the lock back; nothing can be written after that. */
  release(): Promise<void>
}
