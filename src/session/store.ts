import type { AuditRecord, UnsettledAct } from './audit-record.ts'
import type { Identity } from '../base/process/liveness.ts'
import type { SecretRef } from '../secrets/index.ts'
import type { Manifest } from './manifest.ts'
import type { Session } from './session.ts'

/**
 * Keeps sessions: durable, resumable, one writer each. A session is resumed only through the store that wrote it.
 *
 * @example
 * const store = filesystemStore()
 * await using session = await store.create({ tool: 'my-agent', workspace: process.cwd() })
 * await session.append({ type: 'message', data: { role: 'user', text: 'hello' } })
 */
export interface SessionStore {
  /** Written into each manifest. */
  readonly id: string
  /** A new session, held for writing. */
  create(options?: CreateOptions): Promise<Session>
  /** A session as it was left, held for writing. `SESSION_LOCKED` if somebody who lives holds it. */
  resume(id: string, options?: ResumeOptions): Promise<Session>
  /** A short entry by a script or hook, without a revision. Works also while another process holds the session. */
  visit<T>(id: string, fn: (visit: Visit) => Promise<T> | T, options?: VisitOptions): Promise<T>
  /** All sessions, newest activity first. */
  list(options?: ListOptions): Promise<SessionSummary[]>
  /** A session to read, even while another process writes to it. */
  inspect(id: string): Promise<Inspection>
  /** A copy of a session up to a record, with a new id; the original stays as it is. */
  fork(id: string, options?: ForkOptions): Promise<Session>
  /** Ends the hold of a writer that cannot be seen from here, another container's for example. */
  unlock(id: string): Promise<Holder | undefined>
  /** Moves it to the trash, from where the sweep removes it. `SESSION_LOCKED` if somebody who lives holds it. */
  remove(id: string): Promise<void>
}

export interface CreateOptions {
  /** Minted if left out. */
  id?: string
  /** The program the session belongs to. */
  tool?: string
  title?: string
  /** The tree that is edited. */
  workspace?: string
  mode?: string
  /** References that are resolved, and thereby kept off the disk, whenever the session is resumed. */
  secrets?: readonly SecretRef[]
  snapshots?: Partial<SnapshotPolicy>
  /** Shown to whoever finds the session locked. */
  purpose?: string
  signal?: AbortSignal
}

export interface ResumeOptions extends Pick<CreateOptions, 'snapshots' | 'purpose' | 'signal'> {
  /** How long to wait for a living holder; not at all by default. A duration such as `'10s'`, or milliseconds. */
  wait?: string | number
}

export interface VisitOptions {
  /** How long to wait for other visitors; 2 s by default. A writer is not waited for. */
  wait?: string | number
  /** Create the session if there is none. */
  create?: Omit<CreateOptions, 'id'>
  purpose?: string
  /** Values that must not reach the disk. */
  secrets?: readonly { ref: SecretRef; value: string }[]
}

/** What a visitor may do. Everything is on disk when the promise resolves. */
export interface Visit {
  /** False if somebody else holds the session: then what is left here is taken in by them. */
  readonly direct: boolean
  append(event: NewEvent): Promise<void>
  audit(entry: NewAudit): Promise<void>
}

export interface ForkOptions {
  /** The last record that the fork has; all of them by default. */
  at?: number
  id?: string
  title?: string
  purpose?: string
}

export interface ListOptions {
  /** Only sessions of this workspace. */
  workspace?: string
  /** Only sessions of this program. */
  tool?: string
}

export interface NewEvent {
  /** A short word. What begins with `stint.` is ours. */
  type: string
  data?: unknown
}

export interface AppendOptions {
  /** False: the record may wait up to 50 ms for others. Durable all the same when the promise resolves. */
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
}

export interface NewAudit {
  /** What kind of act: `shell`, `approve`, … */
  action: string
  /** On what: a command, a path, … */
  subject?: string
  /** Names the act for good: an act with a settled key is not done again. */
  key?: string
  /** Part of a pair: an intent is recorded before the act, its outcome after. By default it stands alone. */
  phase?: 'intent' | 'outcome'
  /** Ties an outcome to its intent. */
  act?: string
  /** An outcome's. */
  ok?: boolean
  /** Anything else. */
  detail?: unknown
}

export interface SnapshotPolicy {
  /**
   * `turn`: a turn takes a snapshot if enough was written. `never`: a turn takes none. A call of `snapshot` and a close
   * always take one. `critical` is an older name of `never`.
   */
  at: 'turn' | 'never' | 'critical'
  /** How much must have been written since the last snapshot, in bytes or in records. Zeros: one at every turn. */
  minBytes: number
  minRecords: number
}

/**
 * - `active`: a living process writes to it. `locked`: somebody holds it whose life cannot be seen from here.
 * - `closed`: in order, and nobody holds it. `crashed`: its writer died. `damaged`: records are missing or changed.
 */
export const sessionStates = ['active', 'closed', 'crashed', 'locked', 'damaged'] as const

export type SessionState = (typeof sessionStates)[number]

export interface SessionSummary {
  id: string
  store: string
  state: SessionState
  tool?: string
  title?: string
  workspace?: string
  createdAt: number
  lastAt: number
  turns: number
  records: number
  /** On disk. */
  bytes: number
  holder?: Holder
}

/** Who holds a session. */
export interface Holder {
  process: Identity
  since: number
  /** When it last said that it lives. */
  beat: number
  /** A visitor is gone in a moment. */
  kind: 'writer' | 'visitor'
  purpose?: string
  epoch: number
}

/** A session to read. */
export interface Inspection {
  summary: SessionSummary
  manifest: Manifest
  /** What the logs look like; reading goes as far as they are whole. */
  health(onBytes?: (done: number) => void): Promise<Health>
  events(options?: EventOptions): AsyncIterable<SessionEvent>
  /** The newest events, oldest first. */
  tail(count: number, options?: EventOptions): Promise<SessionEvent[]>
  audit(): AsyncIterable<AuditRecord>
  unsettled(): Promise<UnsettledAct[]>
  /** The slots' values as they are now. */
  slots(): Promise<Record<string, SlotValue>>
}

export interface EventOptions {
  from?: number
  to?: number
  type?: string
  /** Also what stint itself has journaled: turns and slots. */
  all?: boolean
}

export interface SlotValue {
  version: string
  value: unknown
}

/** What verification has found. */
export interface Health {
  journal: LogHealth
  audit: LogHealth
  /** Blobs that lines name and that are missing or changed. */
  blobs: string[]
  ok: boolean
}

export interface LogHealth {
  state: 'whole' | 'torn' | 'damaged'
  records: number
  bytes: number
  lastSeq: number
  /** The sum of the last line of the journal; the head of the audit chain. */
  head: string
  /** In words. */
  findings: string[]
}

/** What recovery did to open a session. */
export interface RecoveryReport {
  /** The snapshot it began with, and how many records it replayed. */
  snapshot?: number
  replayed: number
  /** What was torn, and where it was kept. The last group of a session that was not closed cannot be told from a tear: it is possibly acknowledged. */
  cut: { log: string; segment: string; offset: number; bytes: number; kept: string }[]
  /** What a writer wrote after it had lost its lock. */
  ignored: { segment: string; offset: number; bytes: number }[]
  /** Slots that could not be read. */
  brokenSlots: { ext: string; why: string }[]
  /** The writer that was taken over from. */
  tookOverFrom?: Holder
}
