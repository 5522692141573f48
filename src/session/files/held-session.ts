import { Blobs } from '../log/blobs.ts'
import { encodeCheckpoint, encodeEntry, maxInlineBytes } from '../log/codec.ts'
import { readBackwards, readRecords } from '../log/read.ts'
import type { BlobName, LogRecord } from '../log/record.ts'
import { sessionClosed } from '../session-errors.ts'
import type { AppendPoint, LogName, Position } from '../log/log-end.ts'
import { defaultSegmentSizes, type SegmentSizes } from '../log/segment-file.ts'
import { type CommitPolicy, LogWriter } from '../log/writer.ts'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import type { Clock } from '../../base/process/clock.ts'
import { type Disk, ensureDirectory } from '../../base/fs/disk.ts'
import type {
  HeldSession,
  LogEntry,
  RecordOptions,
  RecordRange,
  Recovery,
  SessionHold,
  SpoolEntry,
  StoredReceipt,
  WriteGuard,
} from '../driver.ts'
import { type Manifest, revised, type Revision } from '../manifest.ts'
import { visitedRecords } from '../snapshot-policy.ts'
import type { FoldedState } from '../state.ts'
import { eachRecord } from './each-record.ts'
import { withFileErrors } from './session-file-errors.ts'
import { type LogPositions, type Logs, logsOf } from './logs.ts'
import type { SessionPaths } from './paths.ts'
import type { WriterLock } from './session-lock.ts'
import { Snapshots } from './snapshots.ts'
import { formatManifest } from './staged-session.ts'
import { takeSpool } from './take-spool.ts'

/** The sizes at which a session changes how it stores things. Tests make them small. */
export interface SessionLimits extends SegmentSizes {
  /** Data over this many bytes goes to a blob. */
  inlineBytes: number
  /** A visitor takes a snapshot after this many records without one. */
  visitedRecords: number
}

export const defaultLimits: SessionLimits = {
  ...defaultSegmentSizes,
  inlineBytes: maxInlineBytes,
  /** Of the audit log: the line that reports a full disk must still fit. */
  spareBytes: 8 << 10,
  visitedRecords,
}

export interface HeldOptions {
  disk: Disk
  clock: Clock
  paths: SessionPaths
  lock: WriterLock
  hold: SessionHold
  guard: WriteGuard
  manifest: Manifest
  /** Undefined for a visitor that writes on where the last writer closed the logs. */
  recovered: Recovery | undefined
  journal: AppendPoint
  audit: AppendPoint
  /** The entries of visitors that are in the logs already, and whose files may still be there: their marks. */
  spooled: Set<string>
  limits: SessionLimits
}

/** A session in plain files, held for writing. */
export class FilesystemSession implements HeldSession {
  readonly recovered: Recovery | undefined
  readonly #options: HeldOptions
  readonly #policy: CommitPolicy
  readonly #logs: Logs
  readonly #blobs: Blobs
  readonly #snapshots: Snapshots
  readonly #journal: LogWriter
  #audit: LogWriter | undefined
  #manifest: Manifest
  #released = false

  constructor(options: HeldOptions) {
    const { disk, paths, recovered, manifest, audit } = options
    this.#options = options
    this.recovered = recovered
    this.#manifest = manifest
    this.#logs = logsOf(disk, paths)
    this.#blobs = new Blobs(disk, paths.blobs)
    this.#snapshots = new Snapshots(disk, paths)
    this.#policy = new SessionCommitPolicy(options, () => this.ends().audit)
    this.#journal = this.#writer('journal')
    // Also for one who may never need it: on a full disk the line that says so must fit.
    if (audit.eager || options.hold.kind === 'writer') this.#openAudit()
  }

  get manifest(): Manifest {
    return this.#manifest
  }

  get lastSeq(): number {
    return this.#journal.position.seq
  }

  append(log: LogName, entry: LogEntry, options?: RecordOptions): Promise<StoredReceipt> {
    const { spool } = entry
    const noted = spool === undefined ? options : this.#remembering(spool, options)
    return log === 'journal'
      ? this.#journal.append(this.#encode(entry), noted)
      : this.#appendAudit(entry, noted)
  }

  /**
   * Keeps the mark of a spooled entry from the moment the record counts until its file is gone: removing the file may
   * fail, and a snapshot that is taken in between must list the mark.
   */
  #remembering(mark: string, options?: RecordOptions): RecordOptions {
    const applied = (receipt: StoredReceipt): void => {
      this.#options.spooled.add(mark)
      options?.applied?.(receipt)
    }
    return { ...options, applied }
  }

  async #appendAudit(entry: LogEntry, { applied }: RecordOptions = {}): Promise<StoredReceipt> {
    const writer = this.#auditWriter()
    let hash = ''
    const appended = writer.append(this.#encode(entry), {
      applied({ seq, at }) {
        hash = writer.position.tail
        applied?.({ seq, at, hash })
      },
    })
    // At once: the caller of an intent waits for it before it acts, so no further lines would gather.
    writer.commit()
    const { seq, at } = await appended
    return { seq, at, hash }
  }

  async flush(): Promise<void> {
    this.#journal.commit()
  }

  async revise(revision: Omit<Revision, 'rev' | 'at'>): Promise<void> {
    this.#assertOpen()
    const { disk, paths, lock, clock, guard } = this.#options
    const next = revised(this.#manifest, clock.now(), revision)
    const text = formatManifest(next)
    // What the others say is on the disk already: a secret that was registered since must not keep the session from being closed.
    guard.check(Buffer.from(JSON.stringify(next.revisions.at(-1))))
    lock.assertOurs()
    this.#explained('write the manifest', () => replaceFile(paths.manifest, text, disk))
    this.#manifest = next
  }

  async snapshot(state: FoldedState, payloadOf: (ext: string) => string): Promise<number> {
    this.#assertOpen()
    const { lock, clock, guard } = this.#options
    this.#journal.commit()
    lock.assertOurs()
    const checked = (ext: string): string => {
      const payload = payloadOf(ext)
      guard.check(Buffer.from(payload))
      return payload
    }
    this.#explained('write a snapshot', () =>
      this.#snapshots.write(this.ends(), state, clock.now(), checked, this.#options.spooled),
    )
    return this.lastSeq
  }

  async takeSpool(take: (entry: SpoolEntry) => Promise<void>): Promise<void> {
    const { disk, paths, spooled } = this.#options
    await takeSpool(disk, paths, spooled, take)
  }

  records(log: LogName, range?: RecordRange): AsyncIterable<LogRecord> {
    const to = this.ends()[log].seq
    return this.#each(() => readRecords(this.#logs[log], { to, ...range }))
  }

  newestFirst(): AsyncIterable<LogRecord> {
    return this.#each(() => readBackwards(this.#logs.journal, this.lastSeq + 1))
  }

  #each(read: () => Iterable<LogRecord>): AsyncIterable<LogRecord> {
    return eachRecord(this.#options.paths.root, this.#blobs, read)
  }

  beat(): void {
    const { lock, clock } = this.#options
    lock.beat(clock.now())
  }

  async release(): Promise<void> {
    if (this.#released) return
    this.#released = true
    this.#explained('close the session', () => {
      let ends: LogPositions | undefined
      try {
        ends = this.#closeLogs()
      } finally {
        // Also when they cannot be closed: then the next one recovers them.
        this.#options.lock.release(ends)
      }
    })
  }

  #closeLogs(): LogPositions {
    let audit = this.#options.audit.from
    try {
      audit = this.#audit?.close() ?? audit
    } finally {
      this.#journal.close()
    }
    return { journal: this.#journal.position, audit }
  }

  /** The lock still looks like ours after it was given back. */
  #assertOpen(): void {
    if (this.#released) throw sessionClosed()
  }

  ends(): LogPositions {
    return { journal: this.#journal.position, audit: this.#audit?.position ?? this.#options.audit.from }
  }

  #auditWriter(): LogWriter {
    this.#assertOpen()
    const { disk, paths } = this.#options
    if (this.#audit !== undefined) return this.#audit
    this.#explained('make the audit log', () => ensureDirectory(disk, paths.audit))
    this.#audit = this.#explained('open the audit log', () => this.#writer('audit'))
    return this.#audit
  }

  #openAudit(): void {
    try {
      this.#auditWriter()
    } catch (error) {
      // Nobody gets a session that could close it.
      this.#journal.abandon()
      throw error
    }
  }

  #writer(log: LogName): LogWriter {
    const { clock, lock, hold, limits } = this.#options
    const { segmentBytes, growBytes, spareBytes } = limits
    return new LogWriter({
      files: this.#logs[log],
      start: this.#options[log],
      epoch: lock.epoch,
      clock,
      policy: this.#policy,
      sizes: {
        segmentBytes,
        // A visitor closes the file in a moment, which cuts the filling off again.
        growBytes: hold.kind === 'visitor' ? 0 : growBytes,
        spareBytes: log === 'audit' ? spareBytes : 0,
      },
    })
  }

  #encode(entry: LogEntry): string {
    return encodeEntry(entry, this.#putBlob, this.#options.limits.inlineBytes)
  }

  readonly #putBlob = (json: string): BlobName => this.#explained('write a blob', () => this.#put(json))

  #put(json: string): BlobName {
    this.#options.guard.check(Buffer.from(json))
    return this.#blobs.put(json)
  }

  #explained<T>(doing: string, act: () => T): T {
    return withFileErrors(doing, this.#options.paths.root, act)
  }
}

/** Checks the commits of both logs against the lock and the secrets of their session. */
class SessionCommitPolicy implements CommitPolicy {
  readonly #lock: WriterLock
  readonly #guard: WriteGuard
  readonly #auditEnd: () => Position

  constructor({ lock, guard }: HeldOptions, auditEnd: () => Position) {
    this.#lock = lock
    this.#guard = guard
    this.#auditEnd = auditEnd
  }

  /** The journal attests how far the audit log has come. */
  checkpoint(log: LogName): string {
    return log === 'audit' ? '' : encodeCheckpoint(this.#auditEnd())
  }

  check(bytes: Buffer): void {
    this.#guard.check(bytes)
  }

  assertOwned(): void {
    this.#lock.assertOurs()
  }
}
