import type { Identity } from '../base/process/liveness.ts'
import type { SecretRef } from '../secrets/index.ts'
import type { Manifest } from './manifest.ts'
import type { Match } from './search-query.ts'
import type { Session } from './session.ts'

/**
 * Keeps sessions: durable, resumable, one writer each, resumed only through the store that wrote it.
 *
 * @example
 * const store = filesystemStore()
 * await using session = await store.create({ tool: 'my-agent', workspace: process.cwd() })
 * await session.append({ type: 'message', data: { role: 'user', text: 'hello' } })
 */
export interface SessionStore {
  /** Written into each manifest. */
  readonly id: string
  /** Creates a session and holds it for writing. */
  create(options?: CreateOptions): Promise<Session>
  /** Resumes a session as it was left, held for writing. `SESSION_LOCKED` while a living process holds it. */
  resume(name: SessionName, options?: ResumeOptions): Promise<Session>
  /**
   * Resumes a session, or creates it if there is none: of many processes at once, one creates it. Options for
   * a new session, such as `tool` or `title`, do not change one that exists.
   */
  resumeOrCreate(
    name: SessionName,
    options?: ResumeOptions & Omit<CreateOptions, 'id' | 'key'>,
  ): Promise<Session>
  /**
   * Keeps a session open while this program uses it, and closes it when it is idle, or when another process
   * waits for it. All uses of a session share it; at most 64 sessions of a store are open at once.
   */
  hold(name: SessionName, options?: HoldOptions): SharedSession
  /** Closes the sessions that `hold` keeps open, each when its last use has ended. */
  close(): Promise<void>
  /** Holds the session for a moment, to write a few records. `SESSION_LOCKED` while a writer holds it. */
  visit<T>(name: SessionName, fn: (visit: Visit) => Promise<T> | T, options?: VisitOptions): Promise<T>
  /** Lists the sessions, newest activity first. */
  list(options?: ListOptions): Promise<SessionSummary[]>
  /**
   * Finds a text, or a regular expression, in the events of all sessions: newest session first, and its
   * newest event first. Events are read as they are asked for, in memory that does not grow with them.
   */
  search(pattern: string | RegExp, options?: SearchOptions): AsyncIterable<FoundEvent>
  /** Opens a session for reading, even while another process writes to it. */
  inspect(name: SessionName): Promise<Inspection>
  /** Copies a session up to a record, under a new id; the original is not changed. */
  fork(name: SessionName, options?: ForkOptions): Promise<Session>
  /** Takes a session away from a holder that cannot be seen from here, such as one in another container. */
  unlock(name: SessionName): Promise<Holder | undefined>
  /** Yields events as they are written, until `signal` aborts. `NOT_FOUND` once the session is removed. */
  follow(name: SessionName, options?: FollowOptions): AsyncIterable<SessionEvent>
  /**
   * Removes a session; `SESSION_LOCKED` while a living process holds it. It stays readable in the trash of a
   * file store, or in the tables of a database, until that is emptied; with `purge` it is deleted at once.
   */
  remove(name: SessionName, options?: RemoveOptions): Promise<void>
}

/** A session by its id, or by its key: any string of 1 to 4,096 bytes that the program has chosen. */
export type SessionName = string | { key: string }

/**
 * What is replaced before it is written.
 * - `registered`: the values of the session's secrets, and nothing else. Everything else is stored as it is.
 * - `tokens`: also whatever looks like a well-known token, registered or not.
 */
export type Mask = 'registered' | 'tokens'

export interface CreateOptions {
  /** By default a new one. */
  id?: string
  /** Instead of an id; see `SessionName`. */
  key?: string
  /** Strings by name, for `list`. They do not change. */
  labels?: Readonly<Record<string, string>>
  /** The program the session belongs to. */
  tool?: string
  title?: string
  /** The directory that is edited. */
  workspace?: string
  mode?: string
  /** References whose values are resolved at every resume, and so kept off the disk. */
  secrets?: readonly SecretRef[]
  /** What is replaced before it is written, for as long as the session exists; `registered` by default. */
  mask?: Mask
  snapshots?: Partial<SnapshotPolicy>
  /** Shown to processes that find the session locked. */
  purpose?: string
}

export interface ResumeOptions extends Pick<CreateOptions, 'snapshots' | 'purpose'> {
  /** How long to wait for a living holder: a duration such as `'10s'`, or milliseconds (0). */
  wait?: string | number
  /** Ends the waiting. */
  signal?: AbortSignal
}

export interface HoldOptions extends Pick<CreateOptions, 'snapshots' | 'purpose'> {
  /** How long it stays open without a use: a duration such as `'1m'`, or milliseconds (10 s). */
  idle?: string | number
  /** How long a use waits for another process that holds the session (5 s). */
  wait?: string | number
  /** Creates the session if it does not exist. */
  create?: Omit<CreateOptions, 'id' | 'key'>
  /** Called if a session was not closed cleanly, and no caller of `close` hears it. By default a warning. */
  onWarning?: (message: string) => void
}

/** A session that is opened when it is used. The options of the use that opens it count. */
export interface SharedSession extends AsyncDisposable {
  readonly id: string
  /** The session, while it is open in this process. It may be closed at any moment: write in a use. */
  readonly session: Session | undefined
  /**
   * Calls `fn` with the open session; several uses may run at once. Do not close the session in `fn`. If
   * another process has taken the session over, `fn` gets `FENCED`, and the next use opens it again.
   */
  use<T>(fn: (session: Session) => Promise<T> | T): Promise<T>
  /** Closes the session when its last use has ended, and says if that fails. A later use opens it again. */
  close(): Promise<void>
}

export interface VisitOptions {
  /** How long to wait for another visitor; 2 s by default. A visit does not wait for a writer. */
  wait?: string | number
  /** Creates the session if it does not exist. */
  create?: Omit<CreateOptions, 'id' | 'key'>
  purpose?: string
  /** Secrets whose values must not reach the disk. */
  secrets?: readonly { ref: SecretRef; value: string }[]
  /** Masks what looks like a token in everything this visit writes, whatever the session has chosen. */
  mask?: 'tokens'
  /** Called if the session could not be given back; what was written is on disk. By default a warning. */
  onWarning?: (message: string) => void
}

/** The operations of a visitor. Everything is on disk when its promise resolves. */
export interface Visit {
  append(event: NewEvent): Promise<Receipt>
  audit(entry: NewAudit): Promise<Receipt>
  /** Reads the session as it is now. What is read stays true until the visit ends. */
  inspect(): Promise<Inspection>
}

export interface FollowOptions extends Pick<EventOptions, 'from' | 'type' | 'all'> {
  /** Ends the following. */
  signal?: AbortSignal
}

export interface RemoveOptions {
  /** Deletes the records, too. On PostgreSQL the role must be allowed to delete. */
  purge?: boolean
}

export interface ForkOptions {
  /** The last record of the fork; all records by default. */
  at?: number
  id?: string
  /** Instead of an id. A fork does not have the key of its original, but its labels. */
  key?: string
  title?: string
  purpose?: string
  /** Secrets whose values must not reach the disk. */
  secrets?: readonly { ref: SecretRef; value: string }[]
}

export interface ListOptions {
  /** Only sessions of this workspace. */
  workspace?: string
  /** Only sessions of this program. */
  tool?: string
  /** Only sessions whose ids begin with this. */
  prefix?: string
  /** Only sessions whose keys begin with this. */
  keyPrefix?: string
  /** Only sessions that have all of these labels. */
  labels?: Readonly<Record<string, string>>
  /** At most this many: those with the newest activity. A list of few reads far less than one of all. */
  newest?: number
}

export interface SearchOptions extends ListOptions {
  /** Only events of this type. stint's own records are searched only by their type. */
  type?: string
  /** Only events of the last while: a duration such as `'7d'`, or milliseconds. */
  since?: string | number
  /** Called with the number of bytes searched so far, if the store reads them itself. */
  onBytes?: (done: number) => void
  /** Called for a session that cannot be read; the search goes on. By default it fails. */
  onUnreadable?: (session: SessionSummary, error: Error) => void
}

/** An event in which a search found its pattern. */
export interface FoundEvent extends Match {
  session: SessionSummary
  seq: number
  /** Milliseconds since the epoch. */
  at: number
  type: string
}

export interface NewEvent {
  /** A string of 1 to 200 characters. Types that begin with `stint.` are reserved. */
  type: string
  data?: unknown
  /** Secrets in it were replaced before it was passed in: the record will say so. */
  masked?: boolean
}

export interface AppendOptions {
  /** False: the record may wait up to 50 ms for others. It is durable when the promise resolves. */
  durable?: boolean
}

/** A record that is on disk. */
export interface Receipt {
  seq: number
  /** Milliseconds since the epoch. */
  at: number
}

/** An event of a session. */
export interface SessionEvent {
  seq: number
  /** Milliseconds since the epoch. */
  at: number
  type: string
  data: unknown
  /** Secrets or tokens in it were replaced before it was written. */
  masked?: true
}

export interface NewAudit {
  /** The kind of act: `shell`, `approve`, … */
  action: string
  /** The object of the act: a command, a path, … */
  subject?: string
  /** Identifies the act: an act with a settled key is not performed again. */
  key?: string
  /** An intent is recorded before the act, its outcome after it. By default the line stands alone. */
  phase?: 'intent' | 'outcome'
  /** Ties an outcome to its intent. */
  act?: string
  /** In an outcome: did the act succeed? */
  ok?: boolean
  /** Anything else. */
  detail?: unknown
  /** Secrets in it were replaced before it was passed in: the line will say so. */
  masked?: boolean
}

/** A line of the audit log. */
export interface AuditRecord {
  seq: number
  /** Milliseconds since the epoch. */
  at: number
  /** An intent is recorded before an act, its outcome after; a note stands alone. */
  type: 'intent' | 'outcome' | 'note'
  /** Names the act; an outcome has its intent's. */
  act?: string
  action: string
  subject?: string
  key?: string
  /** An outcome's: did it succeed? */
  ok?: boolean
  /** An outcome's: what the act returned. */
  result?: unknown
  /** An outcome's: why it failed. */
  error?: { code?: string; message: string }
  detail?: unknown
  /** Secrets or tokens in it were replaced before it was written. */
  masked?: true
  /** Chains the line to the one before it. */
  hash: string
}

/** An intent without an outcome: the act was performed, or not, or half. */
export interface UnsettledAct {
  act: string
  seq: number
  at: number
  action: string
  subject?: string
  key?: string
}

export interface SnapshotPolicy {
  /**
   * `turn`: a turn takes a snapshot if enough was written. `critical`: turns take none, and only events that
   * `critical` names do. `never`: turns take none. A call of `snapshot` takes one under any policy, and so
   * does a close after new records, unless writing it fails. Without turns, 5,000 records or 8 MiB take one,
   * too, except with `never`.
   */
  at: 'turn' | 'critical' | 'never'
  /**
   * Events that take a snapshot as soon as they are recorded, whatever `at` says: their types, or a function
   * that tells. `append` resolves when the snapshot is there, or could not be written.
   */
  critical?: readonly string[] | ((event: Pick<NewEvent, 'type' | 'data'>) => boolean)
  /** How much must be written before a turn takes another one, in bytes or records. Zeros: each turn does. */
  minBytes: number
  minRecords: number
}

/**
 * - `active`: a living process holds it. `locked`: its holder cannot be seen from here.
 * - `closed`: it is intact and not held. `crashed`: its writer died. `damaged`: records are missing or
 *   changed.
 */
export const sessionStates = ['active', 'closed', 'crashed', 'locked', 'damaged'] as const

export type SessionState = (typeof sessionStates)[number]

export interface SessionSummary {
  id: string
  store: string
  state: SessionState
  /** As it was given. */
  key?: string
  labels?: Record<string, string>
  tool?: string
  title?: string
  workspace?: string
  createdAt: number
  lastAt: number
  records: number
  /** The length of what is stored, in bytes. */
  bytes: number
  /** What the disk has lost to it, in bytes; missing where only the length is known. */
  diskBytes?: number
  holder?: Holder
}

/** The process that holds a session. */
export interface Holder {
  process: Identity
  /** Milliseconds since the epoch. */
  since: number
  /** When it last showed that it is alive, in milliseconds since the epoch. */
  beat: number
  /** A visitor holds the session for a moment only. */
  kind: 'writer' | 'visitor'
  purpose?: string
  epoch: number
}

/** A session opened for reading. */
export interface Inspection {
  summary: SessionSummary
  manifest: Manifest
  /** Reads everything and reports damage. `onBytes` is called with the number of bytes read so far. */
  health(onBytes?: (done: number) => void): Promise<Health>
  /** The events, oldest or newest first. */
  events(options?: EventOptions): AsyncIterable<SessionEvent>
  /** The newest events, oldest first. */
  tail(count: number, options?: EventOptions): Promise<SessionEvent[]>
  /** The audit lines, all of them or those from a line on. */
  audit(range?: { from?: number }): AsyncIterable<AuditRecord>
  unsettled(): Promise<UnsettledAct[]>
  /** The present values of the slots: what came after the newest snapshot is replayed. */
  slots(): Promise<Record<string, SlotValue>>
}

export interface EventOptions {
  from?: number
  to?: number
  type?: string
  /** Includes stint's own records: turns and slots. */
  all?: boolean
  /** Reads from the end: a reader that stops early has read little, however long the session is. */
  newestFirst?: boolean
}

export interface SlotValue {
  version: string
  value: unknown
}

/** The result of a verification. */
export interface Health {
  journal: LogHealth
  audit: LogHealth
  /** Blobs that are missing or changed, by hash. */
  blobs: string[]
  ok: boolean
}

export interface LogHealth {
  state: 'whole' | 'torn' | 'damaged'
  records: number
  bytes: number
  lastSeq: number
  /** The checksum of the last journal line, or the hash of the last audit line. */
  head: string
  /** Each a sentence. */
  findings: string[]
}

/** The report of a recovery. */
export interface RecoveryReport {
  /** The last record in the snapshot that recovery began with, and how many records it replayed. */
  snapshot?: number
  replayed: number
  /**
   * Torn ends that were cut off, and where they are kept. The last group of a session that was not closed
   * cannot be told from a torn end, so it was possibly acknowledged.
   */
  cut: { log: string; segment: string; offset: number; bytes: number; kept: string }[]
  /** Slots that could not be read. */
  brokenSlots: { ext: string; why: string }[]
  /** The holder that the session was taken over from. */
  tookOverFrom?: Holder
}
