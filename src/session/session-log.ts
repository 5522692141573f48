import type { Clock } from '../base/process/clock.ts'
import { codecs, emptyLogEnd, encodeCheckpoint, encodeEntry, maxInlineBytes } from './log/codec.ts'
import { nameBlob } from './log/blobs.ts'
import { linesBackwards } from './log/lines.ts'
import { isSameEnd, type LogEnds, type LogName, logNames } from './log/log-end.ts'
import { type LogRange, readBackwards, readRecords } from './log/read.ts'
import { checkRecord, type LogEntry, type StoredReceipt, type StoredRecord } from './log/record.ts'
import { damageRecovered, recoverLogs } from './log/recover.ts'
import { encodeSnapshot, readSnapshotHead, type SavedSlots } from './log/snapshot.ts'
import { verifyLogs } from './log/verify.ts'
import { LogWriter, OperationQueue, type RecordBody, type RecordOptions } from './log/writer.ts'
import { type Manifest, revised, type Revision } from './manifest.ts'
import type { HeldMedium, LogTail, Medium, SessionHold } from './medium.ts'
import { damageFound, sessionClosed } from './session-errors.ts'
import {
  brokenSlots,
  emptyState,
  type FoldedState,
  nothingToReport,
  type StoredSlot,
  turnType,
  visitedRecords,
} from './state.ts'
import type { AppendOptions, RecoveryReport } from './store.ts'

/** What a session needs besides its medium. */
export interface LogContext {
  clock: Clock
  /** Throws if the bytes contain a registered secret: entries arrive redacted, finished bytes are checked. */
  check: (bytes: Uint8Array) => void
  limits: LogLimits
}

/** The sizes at which a session changes how it stores things. Tests make them small. */
export interface LogLimits {
  /** Data over this many UTF-16 code units of JSON goes to a blob. */
  inlineBytes: number
  /** A visitor takes a snapshot after this many records without one. */
  visitedRecords: number
}

export const defaultLimits: LogLimits = { inlineBytes: maxInlineBytes, visitedRecords }

/** The result of the recovery when a session was opened. */
export interface Recovery {
  /** The slots, turns and unsettled acts. The session changes this object from here on. */
  state: FoldedState
  report: RecoveryReport
  /** Bytes of the journal after the snapshot that recovery began with. */
  bytes: number
  /** Should a visitor take a snapshot, because no writer has taken one for a long time? */
  isSnapshotDue: boolean
  saved: SavedSlots
}

/** Creates a session and opens its logs. */
export async function createLog(
  medium: Medium,
  manifest: Manifest,
  hold: SessionHold,
  context: LogContext,
): Promise<SessionLog> {
  const held = await medium.create(manifest, hold)
  try {
    await held.begin({ journal: emptyTail('journal'), audit: emptyTail('audit') })
  } catch (error) {
    await held.release().catch(() => {})
    throw error
  }
  const report = nothingToReport()
  return new SessionLog(held, context, {
    state: emptyState(),
    report,
    bytes: 0,
    isSnapshotDue: false,
    saved: new Map(),
  })
}

const emptyTail = (log: LogName): LogTail => ({ end: emptyLogEnd(log), segment: '', offset: 0, torn: [] })

/**
 * Takes a session, recovers it and opens its logs. Refuses a damaged session, changes nothing in its logs and
 * leaves it as it was found.
 */
export async function openLog(
  medium: Pick<Medium, 'open' | 'noteDamage'>,
  id: string,
  hold: SessionHold,
  context: LogContext,
): Promise<SessionLog> {
  const held = await medium.open(id, hold)
  try {
    await refuseNotedDamage(medium, held)
    const tails = hold.kind === 'visitor' ? await tailsAsReleased(held, context.limits) : undefined
    if (tails !== undefined) {
      await held.begin(tails)
      return new SessionLog(held, context, undefined, tails)
    }
    const recovered = await recoverLogs(held)
    const damage = damageRecovered(held, recovered)
    if (damage !== undefined) {
      await medium.noteDamage(id, damage.message)
      throw damage
    }
    const { state, snapshot, saved, journal } = recovered
    const { cut, ignored } = await held.begin(recovered)
    const report: RecoveryReport = {
      snapshot,
      replayed: journal.records,
      cut,
      ignored,
      brokenSlots: brokenSlots(state),
      tookOverFrom: held.previous,
    }
    const isSnapshotDue = journal.end.seq - (snapshot ?? 0) >= context.limits.visitedRecords
    const recovery = { state, report, bytes: journal.bytes, isSnapshotDue, saved }
    return new SessionLog(held, context, recovery, recovered)
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

/**
 * A visitor of a closed session needs no state: it appends where the logs end, if they end where the medium
 * says. Undefined if they do not, or if this visitor should take a snapshot.
 */
async function tailsAsReleased(
  held: HeldMedium,
  limits: LogLimits,
): Promise<Record<LogName, LogTail> | undefined> {
  const { seq } = held.ends.journal
  if (seq >= limits.visitedRecords) {
    const snapshot = (await readSnapshotHead(held))?.ends.journal.seq ?? 0
    if (seq - snapshot >= limits.visitedRecords) return undefined
  }
  const tails = { journal: await lastTail(held, 'journal'), audit: await lastTail(held, 'audit') }
  return logNames.every((log) => isSameEnd(tails[log].end, held.ends[log])) ? tails : undefined
}

/** The end of a log by its last line; an end with the number -1 if that line is not intact. */
async function lastTail(held: HeldMedium, log: LogName): Promise<LogTail> {
  for await (const region of held.regions(log, { from: Number.MAX_SAFE_INTEGER, backwards: true })) {
    for (const line of linesBackwards(region)) {
      const { chunk, start, end, ended, next } = line
      const header = ended ? checkRecord(chunk, start, end) : undefined
      const found =
        header === undefined ? { seq: -1, sum: '' } : { seq: header.seq, sum: codecs[log].sumOf(line.bytes) }
      return { end: found, segment: region.segment, offset: next, torn: [] }
    }
  }
  return emptyTail(log)
}

/** The logs of a session that is held for writing, and everything that is written about it. */
export class SessionLog {
  readonly recovered: Recovery | undefined
  readonly #held: HeldMedium
  readonly #context: LogContext
  /** Runs everything that the session does on its medium. */
  readonly #queue = new OperationQueue()
  readonly #writers: Record<LogName, LogWriter>
  readonly #saved: SavedSlots
  #manifest: Manifest
  #isClosed = false

  constructor(
    held: HeldMedium,
    context: LogContext,
    recovered: Recovery | undefined,
    tails: Record<LogName, Pick<LogTail, 'end'>> = {
      journal: emptyTail('journal'),
      audit: emptyTail('audit'),
    },
  ) {
    this.#held = held
    this.#context = context
    this.recovered = recovered
    this.#saved = recovered?.saved ?? new Map()
    this.#manifest = held.manifest
    const writerOf = (log: LogName): LogWriter =>
      new LogWriter({
        log,
        medium: held,
        queue: this.#queue,
        end: tails[log].end,
        clock: context.clock,
        check: context.check,
        prepare: () => this.#prepare(log),
        // The journal attests how far the audit log has come.
        checkpoint: () => (log === 'audit' ? '' : encodeCheckpoint(this.ends.audit)),
      })
    this.#writers = { journal: writerOf('journal'), audit: writerOf('audit') }
  }

  get manifest(): Manifest {
    return this.#manifest
  }

  /** The `seq` of the last acknowledged journal record. */
  get lastSeq(): number {
    return this.#writers.journal.end.seq
  }

  /** Where both logs end: the close revision attests it. */
  get ends(): LogEnds {
    return { journal: this.#writers.journal.end, audit: this.#writers.audit.end }
  }

  /** Appends a record. Rejects and never throws, without a promise of its own for each record. */
  append(log: LogName, entry: LogEntry, options?: RecordOptions): Promise<StoredReceipt> {
    const writer = this.#writers[log]
    try {
      const appended = writer.append(this.#encode(entry), options, entry.type === turnType)
      // At once: the caller of an intent waits for it before it acts, so no further lines would gather.
      if (log === 'audit') void writer.commit()
      return appended
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Appends several records to the journal: after any crash all of them are there, or none. */
  async appendAll(entries: readonly LogEntry[], options?: AppendOptions): Promise<StoredReceipt[]> {
    const bodies = entries.map((entry, i) => this.#encode(entry, i < entries.length - 1))
    return await this.#writers.journal.appendAll(bodies, options)
  }

  /**
   * A journal record may join a commit that was queued before an earlier audit line was appended. So every
   * commit of the journal takes its records first and then writes the audit lines: no crash keeps a journal
   * record and loses an audit line that was appended before it.
   */
  async #prepare(log: LogName): Promise<void> {
    if (log === 'journal') await this.#writers.audit.flush()
  }

  /** Writes what is gathered, so that each record is durable or rejected. */
  async flush(): Promise<void> {
    await this.#queue.run(() => this.#writers.journal.flush())
  }

  /** Adds a revision to the manifest. */
  async revise(revision: Omit<Revision, 'rev' | 'at'>): Promise<void> {
    await this.#queue.run(async () => {
      this.#assertOpen()
      const next = revised(this.#manifest, this.#context.clock.now(), revision)
      // Only the new revision: the others are stored already, and a secret that was registered since must not
      // keep the session from being closed.
      this.#context.check(Buffer.from(JSON.stringify(next.revisions.at(-1))))
      await this.#held.saveManifest(next)
      this.#manifest = next
    })
  }

  /**
   * Saves the state, so that the next recovery begins here; `jsonOf` returns the JSON of a slot's value.
   * Returns the `seq` of the last record in it.
   */
  async snapshot(
    state: FoldedState,
    jsonOf: (slot: StoredSlot) => string,
    isClosing = false,
  ): Promise<number> {
    void this.#writers.journal.commit()
    return await this.#queue.run(async () => {
      this.#assertOpen()
      // The state does not change meanwhile: only records that the queue has committed change it.
      const saved = new Map(this.#saved)
      const texts = encodeSnapshot({ ends: this.ends, state, saved }, this.#context.clock.now(), jsonOf)
      for (const text of texts.values()) this.#context.check(Buffer.from(text))
      const seq = this.lastSeq
      await this.#held.saveState(texts, isClosing)
      for (const [ext, slot] of saved) this.#saved.set(ext, slot)
      return seq
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
    const { journal, audit } = this.#writers
    this.#isClosed = true
    try {
      await audit.close(sessionClosed())
    } finally {
      await journal.close(sessionClosed())
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw sessionClosed()
  }

  #encode(entry: LogEntry, isContinued = false): RecordBody {
    return entry.json.length > this.#context.limits.inlineBytes
      ? () => this.#putBlob(entry, isContinued)
      : encodeEntry(entry, undefined, isContinued)
  }

  async #putBlob(entry: LogEntry, isContinued: boolean): Promise<string> {
    const content = Buffer.from(entry.json)
    this.#context.check(content)
    const name = await nameBlob(content)
    await this.#held.putBlob(name.sha256, content)
    return encodeEntry(entry, name, isContinued)
  }
}
