import type { Clock } from '../base/process/clock.ts'
import { emptyLogEnd, encodeBody, type LogEnds, type LogName, maxInlineChars } from './log/codec.ts'
import { type LogRange, nameBlob, readBackwards, readRecords } from './log/read.ts'
import type { LogEntry, StoredReceipt, StoredRecord } from './log/record.ts'
import { isDamaged, recoverLogs } from './log/recover.ts'
import { encodeSnapshot, type SavedSlots } from './log/snapshot.ts'
import { verifyLogs } from './log/verify.ts'
import { LogWriter, OperationQueue, type RecordBody, type RecordOptions } from './log/writer.ts'
import { type Manifest, revised, type Revision } from './manifest.ts'
import type { HeldMedium, LogTail, Medium, SessionHold } from './medium.ts'
import { damageFound, logDamaged, sessionClosed } from './session-errors.ts'
import type { RegisteredSecrets } from './entries.ts'
import { brokenSlots, emptyState, type FoldedState } from './state.ts'
import type { AppendOptions, RecoveryReport } from './store.ts'

/** What a session needs besides its medium. */
export interface LogContext {
  clock: Clock
  /** Entries arrive without secrets; finished bytes are checked. */
  secrets: Pick<RegisteredSecrets, 'check' | 'gate'>
  limits: LogLimits
}

/** The sizes at which a session changes how it stores things. Tests make them small. */
export interface LogLimits {
  /** Data over this many UTF-16 code units of JSON goes to a blob. */
  inlineChars: number
  /** A session without turns takes a snapshot after so many records: a reader or a resume replays no more. */
  overdueRecords: number
}

export const defaultLimits: LogLimits = { inlineChars: maxInlineChars, overdueRecords: 5000 }

/** A session without turns takes a snapshot after so many bytes, too. */
const overdueBytes = 8 << 20

/** The result of the recovery when a session was opened. */
export interface Recovery {
  /** The slots, turns and unsettled acts. The session changes this object from here on. */
  state: FoldedState
  report: RecoveryReport
  /** Bytes of the journal after the snapshot that recovery began with. */
  bytes: number
  saved: SavedSlots
}

const emptyTail = (log: LogName): LogTail => ({ end: emptyLogEnd(log), segment: '', offset: 0, torn: [] })

/** Creates a session and opens its logs. */
export async function createSessionLog(
  medium: Medium,
  manifest: Manifest,
  hold: SessionHold,
  context: LogContext,
): Promise<SessionLog> {
  const held = await medium.create(manifest, hold)
  const tails = { journal: emptyTail('journal'), audit: emptyTail('audit') }
  return await beginLog(held, async () => {
    await held.begin(tails)
    const report: RecoveryReport = { replayed: 0, cut: [], brokenSlots: [] }
    return new SessionLog(held, context, { state: emptyState(), report, bytes: 0, saved: new Map() }, tails)
  })
}

/**
 * Takes a session, recovers it and opens its logs. Refuses a damaged session, changes nothing in its logs and
 * leaves it as it was found.
 */
export async function openSessionLog(
  medium: Pick<Medium, 'open' | 'noteDamage'>,
  id: string,
  hold: SessionHold,
  context: LogContext,
): Promise<SessionLog> {
  const held = await medium.open(id, hold)
  return await beginLog(held, async () => {
    await refuseNotedDamage(medium, held)
    const recovered = await recoverLogs(held)
    if (isDamaged(held, recovered)) {
      const health = await verifyLogs(held)
      const damage =
        damageFound(id, { ...health, blobs: [] }) ?? logDamaged(id, 'journal', 'a log was replaced')
      await medium.noteDamage(id, damage.message)
      throw damage
    }
    const { state, snapshot, saved, journal } = recovered
    const cut = await held.begin(recovered)
    const report: RecoveryReport = {
      snapshot,
      replayed: journal.records,
      cut,
      brokenSlots: brokenSlots(state),
      tookOverFrom: held.previous,
    }
    return new SessionLog(held, context, { state, report, bytes: journal.bytes, saved }, recovered)
  })
}

/** Gives the session back if its logs cannot be opened. */
async function beginLog(held: HeldMedium, begin: () => Promise<SessionLog>): Promise<SessionLog> {
  try {
    return await begin()
  } catch (error) {
    // The caller must hear the first error. At worst the session counts as held until this process ends.
    await held.release().catch(() => {})
    throw error
  }
}

/**
 * Verifies a session in which damage was noted: it may be before the snapshot that recovery begins with. The
 * note goes if the session is intact, because a user has restored its contents.
 */
async function refuseNotedDamage(medium: Pick<Medium, 'noteDamage'>, held: HeldMedium): Promise<void> {
  if (held.damage === undefined) return
  const { session_id: id } = held.manifest
  const damage = damageFound(id, await verifyLogs(held))
  if (damage === undefined) await medium.noteDamage(id, undefined)
  // A session can be used without one of its blobs.
  else if (damage.code !== 'BLOB_MISSING') throw damage
}

/** The logs of a session that is held for writing, and everything that is written about it. */
export class SessionLog {
  readonly recovered: Recovery
  readonly #held: HeldMedium
  readonly #context: LogContext
  /** Runs everything that the session writes, except for heartbeats. */
  readonly #queue = new OperationQueue()
  readonly #journal: LogWriter
  readonly #audit: LogWriter
  /** The last record in the newest snapshot, and about how many bytes were appended since. */
  #snapshotAt: { seq: number; bytes: number }
  #manifest: Manifest
  #isClosed = false

  constructor(
    held: HeldMedium,
    context: LogContext,
    recovered: Recovery,
    tails: Record<LogName, Pick<LogTail, 'end'>>,
  ) {
    this.#held = held
    this.#context = context
    this.recovered = recovered
    this.#snapshotAt = { seq: recovered.report.snapshot ?? 0, bytes: recovered.bytes }
    this.#manifest = held.manifest
    const { clock, secrets } = context
    const shared = { medium: held, queue: this.#queue, clock, check: secrets.check }
    this.#audit = new LogWriter({ ...shared, log: 'audit', end: tails.audit.end })
    this.#journal = new LogWriter({ ...shared, log: 'journal', end: tails.journal.end, audit: this.#audit })
  }

  get manifest(): Manifest {
    return this.#manifest
  }

  /** The `seq` of the last acknowledged journal record. */
  get lastSeq(): number {
    return this.#journal.end.seq
  }

  /** Where both logs end: the close revision attests it. */
  get ends(): LogEnds {
    return { journal: this.#journal.end, audit: this.#audit.end }
  }

  /** How many records, and about how many bytes of data, were appended since the newest snapshot. */
  get sinceSnapshot(): { records: number; bytes: number } {
    return { records: this.lastSeq - this.#snapshotAt.seq, bytes: this.#snapshotAt.bytes }
  }

  /** Has so much been appended since the newest snapshot that a resume would take long? */
  get isSnapshotOverdue(): boolean {
    const { seq, bytes } = this.#snapshotAt
    return this.lastSeq - seq >= this.#context.limits.overdueRecords || bytes >= overdueBytes
  }

  /** Appends a record. Rejects and never throws, without a promise of its own for each record. */
  append(log: LogName, entry: LogEntry, options?: RecordOptions): Promise<StoredReceipt> {
    try {
      if (log === 'journal') return this.#journal.append(this.#bodyOf(entry), options)
      const appended = this.#audit.append(this.#bodyOf(entry), options)
      // At once: the caller of an intent waits for it before it acts, so no further lines would gather.
      void this.#audit.commit()
      return appended
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Appends several records to the journal: after any crash all of them are there, or none. */
  async appendAll(entries: readonly LogEntry[], options?: AppendOptions): Promise<StoredReceipt[]> {
    const bodies = entries.map((entry) => this.#bodyOf(entry))
    return await this.#journal.appendAll(bodies, options)
  }

  /** The body of a line; data that is too large for a line goes to a blob first. */
  #bodyOf(entry: LogEntry): RecordBody {
    this.#snapshotAt.bytes += entry.json.length
    if (entry.json.length <= this.#context.limits.inlineChars) return encodeBody(entry)
    return async () => {
      const content = Buffer.from(entry.json)
      this.#context.secrets.check(content)
      const blob = await nameBlob(content)
      await this.#held.putBlob(blob.sha256, content)
      return encodeBody(entry, blob)
    }
  }

  /** Writes what is gathered, so that each record is durable or rejected. */
  async flush(): Promise<void> {
    await this.#queue.run(() => this.#journal.flush())
  }

  /** Adds a revision to the manifest. */
  async revise(revision: Omit<Revision, 'rev' | 'at'>): Promise<void> {
    await this.#queue.run(async () => {
      this.#assertOpen()
      const next = revised(this.#manifest, this.#context.clock.now(), revision)
      // Only the new revision: the others are stored already, and a secret that was registered since must not
      // keep the session from being closed.
      this.#context.secrets.check(Buffer.from(JSON.stringify(next.revisions.at(-1))))
      await this.#held.saveManifest(next)
      this.#manifest = next
    })
  }

  /** Saves the state, so that the next recovery begins here. */
  async snapshot(isClosing = false): Promise<void> {
    const { state, saved: savedBefore } = this.recovered
    const { clock, secrets } = this.#context
    void this.#journal.commit()
    await this.#queue.run(async () => {
      this.#assertOpen()
      // The state does not change meanwhile: only records that the queue has committed change it.
      const saved = new Map(savedBefore)
      const snapshot = { ends: this.ends, state, saved }
      const texts = encodeSnapshot(snapshot, clock.now(), ({ value }) => secrets.gate.stringify(value))
      for (const text of texts.values()) secrets.check(Buffer.from(text))
      const seq = this.lastSeq
      await this.#held.saveState(texts, isClosing)
      for (const [ext, slot] of saved) savedBefore.set(ext, slot)
      this.#snapshotAt = { seq, bytes: 0 }
    })
  }

  /** Reads the acknowledged records of a log. */
  records(log: LogName, range?: LogRange): AsyncIterable<StoredRecord> {
    const to = this.ends[log].seq
    return readRecords(this.#held, log, { to, ...range, attested: to })
  }

  /** Reads the acknowledged records of the journal from its end. */
  newestFirst(): AsyncIterable<StoredRecord> {
    return readBackwards(this.#held, 'journal', { to: this.lastSeq, attested: this.lastSeq })
  }

  /** Not queued: in files it replaces the epoch that `assertOwned` looks for, but in a turn of its own. */
  async beat(): Promise<void> {
    await this.#held.beat()
  }

  /** Gives the session back. Called last, and again if it was rejected. */
  async release(): Promise<void> {
    await this.#queue.run(async () => {
      try {
        if (!this.#isClosed) await this.#close()
      } finally {
        await this.#held.release()
      }
    })
  }

  async #close(): Promise<void> {
    this.#isClosed = true
    try {
      await this.#audit.close(sessionClosed())
    } finally {
      await this.#journal.close(sessionClosed())
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw sessionClosed()
  }
}
