import { ifPossible } from '../../base/errors/if-possible.ts'
import { replaceOnDisk } from '../../base/fs/atomic-file.ts'
import type { Clock } from '../../base/process/clock.ts'
import type { AppendOptions } from '../store.ts'
import type {
  HeldSession,
  LogEntry,
  RecordOptions,
  RecordRange,
  Recovery,
  SessionHold,
  StoredReceipt,
  WriteGuard,
} from '../driver.ts'
import { encodeCheckpoint, encodeEntry, maxInlineBytes } from '../log/codec.ts'
import type { AppendPoint, LogName, LogPositions } from '../log/log-end.ts'
import { readBackwards, readRecords } from '../log/read.ts'
import type { LogRecord } from '../log/record.ts'
import { defaultSegmentSizes, type SegmentSizes } from '../log/segment-file.ts'
import { type CommitPolicy, LogWriter, OperationQueue, type RecordBody } from '../log/writer.ts'
import { type Manifest, revised, type Revision } from '../manifest.ts'
import { sessionClosed } from '../session-errors.ts'
import { type FoldedState, visitedRecords } from '../state.ts'
import { readWithData } from './recover.ts'
import { formatManifest, type SessionDirectory } from './session-directory.ts'
import { sessionFileError, withFileErrors } from './session-file-errors.ts'
import type { SessionLock } from './session-lock.ts'
import { lastRecord } from './summary.ts'

/** The sizes at which a session changes how it stores things. Tests make them small. */
export interface SessionLimits extends SegmentSizes {
  /** Data over this many UTF-16 code units of JSON goes to a blob. */
  inlineBytes: number
  /** A visitor takes a snapshot after this many records without one. */
  visitedRecords: number
}

export const defaultLimits: SessionLimits = {
  ...defaultSegmentSizes,
  /** Of the audit log: the line that reports a full disk must still fit. */
  spareBytes: 8 << 10,
  inlineBytes: maxInlineBytes,
  visitedRecords,
}

/** A session that is being opened, and why. */
export interface OpenContext {
  directory: SessionDirectory
  manifest: Manifest
  hold: SessionHold
  guard: WriteGuard
  clock: Clock
  limits: SessionLimits
}

/** Where a session goes on. */
export interface OpenedLogs {
  /** Undefined for a visitor that appends where the last writer closed the logs. */
  recovered: Recovery | undefined
  journal: AppendPoint
  audit: AppendPoint
  /** The last holder has closed the logs, or the session is new: no earlier writer can add to them. */
  wasClosed: boolean
}

/** A session in plain files, held for writing. */
export class FilesystemSession implements HeldSession {
  readonly recovered: Recovery | undefined
  readonly #context: OpenContext
  /** Runs everything that the session does on its disk. */
  readonly #queue = new OperationQueue()
  readonly #lock: SessionLock
  readonly #opened: OpenedLogs
  readonly #policy: CommitPolicy
  readonly #journal: LogWriter
  readonly #audit: LogWriter
  #manifest: Manifest
  #stage: 'open' | 'closed' | 'released' = 'open'
  /** Where the logs end, if the next holder may rely on it: they are closed, and the manifest is complete. */
  #finalEnds: LogPositions | undefined
  #isManifestUpToDate = true

  /** Opens the logs of a session whose lock was acquired. */
  static async open(context: OpenContext, lock: SessionLock, opened: OpenedLogs): Promise<FilesystemSession> {
    const session = new FilesystemSession(context, lock, opened)
    const journal = session.#journal
    await journal.open()
    // A writer that never audits anything must still be able to record there that the disk is full. A visitor
    // after a crash begins a segment, to supersede lines that an earlier writer may still add.
    if (opened.wasClosed && context.hold.kind === 'visitor') return session
    try {
      await session.#audit.open()
    } catch (error) {
      // The caller gets no session that it could close.
      journal.abandon()
      throw error
    }
    return session
  }

  private constructor(context: OpenContext, lock: SessionLock, opened: OpenedLogs) {
    this.#context = context
    this.#lock = lock
    this.#opened = opened
    this.recovered = opened.recovered
    this.#manifest = context.manifest
    this.#policy = {
      // The journal attests how far the audit log has come.
      checkpoint: (log) => (log === 'audit' ? '' : encodeCheckpoint(this.ends().audit)),
      prepare: (log) => this.#prepare(log),
      check: (bytes) => context.guard.check(bytes),
      assertOwned: () => lock.assertOwned(),
      explain: (error, doing) => sessionFileError(error, doing, context.directory.paths.root),
    }
    this.#journal = this.#writerOf('journal')
    this.#audit = this.#writerOf('audit')
  }

  get manifest(): Manifest {
    return this.#manifest
  }

  get lastSeq(): number {
    return this.#journal.position.seq
  }

  /** Rejects and never throws, without a promise of its own for each record. */
  append(log: LogName, entry: LogEntry, options?: RecordOptions): Promise<StoredReceipt> {
    if (log === 'audit') return this.#appendAudit(entry, options)
    try {
      return this.#journal.append(this.#encode(entry), options)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async appendAll(entries: readonly LogEntry[], options?: AppendOptions): Promise<StoredReceipt[]> {
    const bodies = entries.map((entry, i) => this.#encode(entry, i < entries.length - 1))
    return await this.#journal.appendAll(bodies, options)
  }

  async #appendAudit(entry: LogEntry, { applied }: RecordOptions = {}): Promise<StoredReceipt> {
    const writer = this.#audit
    let hash = ''
    const appended = writer.append(this.#encode(entry), {
      applied({ seq, at }) {
        hash = writer.position.sum
        applied?.({ seq, at, hash })
      },
    })
    // At once: the caller of an intent waits for it before it acts, so no further lines would gather.
    void writer.commit()
    const { seq, at } = await appended
    return { seq, at, hash }
  }

  /**
   * A journal record may join a commit that was queued before an earlier audit line was appended. So every
   * commit of the journal takes its records first and then writes the audit lines: no crash keeps a journal
   * record and loses an audit line that was appended before it.
   */
  async #prepare(log: LogName): Promise<void> {
    if (log === 'journal') await this.#audit.flush()
  }

  async flush(): Promise<void> {
    await this.#queue.run(() => this.#journal.flush())
  }

  async revise(revision: Omit<Revision, 'rev' | 'at'>): Promise<void> {
    await this.#run('write the manifest', () => this.#revise(revision))
  }

  async #revise(revision: Omit<Revision, 'rev' | 'at'>): Promise<void> {
    this.#assertOpen()
    const { directory, clock, guard } = this.#context
    const next = revised(this.#manifest, clock.now(), revision)
    // Only the new revision: the others are on disk already, and a secret that was registered since must not
    // keep the session from being closed.
    guard.check(Buffer.from(JSON.stringify(next.revisions.at(-1))))
    this.#lock.assertOwned()
    const { disk, paths } = directory
    this.#isManifestUpToDate = false
    // On a slow disk the new manifest takes a while: another process may have taken the session meanwhile.
    const beforeRename = (): void => this.#lock.assertOwned()
    await replaceOnDisk(disk, paths.manifest, formatManifest(next), beforeRename)
    this.#isManifestUpToDate = true
    this.#manifest = next
  }

  async snapshot(
    state: FoldedState,
    payloadOf: (ext: string) => string,
    isClosing?: boolean,
  ): Promise<number> {
    void this.#journal.commit()
    return await this.#run('write a snapshot', () => this.#snapshot(state, payloadOf, isClosing))
  }

  /** The state does not change meanwhile: only records that the queue has committed change it. */
  async #snapshot(
    state: FoldedState,
    payloadOf: (ext: string) => string,
    isClosing?: boolean,
  ): Promise<number> {
    this.#assertOpen()
    const { directory, clock, guard } = this.#context
    this.#lock.assertOwned()
    const checkedPayload = (ext: string): string => {
      const payload = payloadOf(ext)
      guard.check(Buffer.from(payload))
      return payload
    }
    await directory.snapshots.write(this.ends(), state, clock.now(), checkedPayload, isClosing)
    return this.lastSeq
  }

  records(log: LogName, range?: RecordRange): AsyncIterable<LogRecord> {
    const to = this.ends()[log].seq
    return this.#read(() => readRecords(this.#context.directory.logs[log], { to, ...range, attested: to }))
  }

  newestFirst(): AsyncIterable<LogRecord> {
    return this.#read(() =>
      readBackwards(this.#context.directory.logs.journal, {
        before: this.lastSeq + 1,
        attested: this.lastSeq,
      }),
    )
  }

  #read(read: () => Iterable<LogRecord>): AsyncIterable<LogRecord> {
    return readWithData(this.#context.directory, this.#manifest.session_id, read)
  }

  beat(): void {
    this.#lock.beat(this.#context.clock.now())
  }

  async release(): Promise<void> {
    await this.#run('close the session', () => this.#release())
  }

  async #release(): Promise<void> {
    if (this.#stage === 'released') return
    try {
      if (this.#stage === 'open') await this.#closeLogs()
    } finally {
      // Even if closing has failed: then the next holder recovers the logs.
      this.#lock.release(this.#finalEnds, this.#lastAt())
      this.#stage = 'released'
    }
  }

  async #closeLogs(): Promise<void> {
    this.#stage = 'closed'
    try {
      await this.#audit.close()
    } finally {
      await this.#journal.close()
    }
    if (this.#isManifestUpToDate || this.#isAsFound()) this.#finalEnds = this.ends()
  }

  /** When the last record was written; when the session was created, if there is none. */
  #lastAt(): number {
    const { directory, manifest } = this.#context
    const createdAt = Date.parse(manifest.created_at)
    return this.#journal.lastAt ?? ifPossible(() => lastRecord(directory, manifest)?.at) ?? createdAt
  }

  /** Was the session closed when it was opened, and has this hold written nothing to its logs? */
  #isAsFound(): boolean {
    const { journal, audit } = this.ends()
    const { journal: found, audit: foundAudit, wasClosed } = this.#opened
    return wasClosed && journal.seq === found.from.seq && audit.seq === foundAudit.from.seq
  }

  /** A released lock cannot tell: until another process acquires it, `assertOwned` still passes. */
  #assertOpen(): void {
    if (this.#stage !== 'open') throw sessionClosed()
  }

  ends(): LogPositions {
    return { journal: this.#journal.position, audit: this.#audit.position }
  }

  #writerOf(log: LogName): LogWriter {
    const { directory, hold, clock, limits } = this.#context
    return new LogWriter({
      files: directory.logs[log],
      queue: this.#queue,
      start: this.#opened[log],
      epoch: this.#lock.holdEpoch,
      clock,
      policy: this.#policy,
      sizes: {
        segmentBytes: limits.segmentBytes,
        // A visitor closes the file in a moment, which cuts the filling off again.
        growBytes: hold.kind === 'visitor' ? 0 : limits.growBytes,
        spareBytes: log === 'audit' ? limits.spareBytes : 0,
      },
    })
  }

  #encode(entry: LogEntry, isContinued = false): RecordBody {
    return entry.json.length > this.#context.limits.inlineBytes
      ? () => this.#putBlob(entry, isContinued)
      : encodeEntry(entry, undefined, isContinued)
  }

  async #putBlob(entry: LogEntry, isContinued: boolean): Promise<string> {
    const { directory, guard } = this.#context
    guard.check(Buffer.from(entry.json))
    return encodeEntry(entry, await directory.blobs.put(entry.json), isContinued)
  }

  #run<Result>(doing: string, act: () => Promise<Result>): Promise<Result> {
    return withFileErrors(doing, this.#context.directory.paths.root, () => this.#queue.run(act))
  }
}
