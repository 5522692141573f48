import { type AuditRecord, auditRecordOf } from '../audit-record.ts'
import { Blobs } from '../log/blobs.ts'
import { encodeField } from '../log/codec.ts'
import { readBackwards, readRecords } from '../log/read.ts'
import type { BlobName, LogRecord } from '../log/record.ts'
import { sessionClosed } from '../log/session-closed.ts'
import { LogWriter } from '../log/writer.ts'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import type { Clock } from '../../base/process/clock.ts'
import { type Disk, ensureDirectory } from '../../base/fs/disk.ts'
import type { AppendOptions, Entry, HeldSession, Hold, Receipt, SpoolEntry, WriteGuard } from '../driver.ts'
import { type Manifest, revised, type Revision } from '../manifest.ts'
import { visitedRecords } from '../snapshot-policy.ts'
import type { FoldedState } from '../state.ts'
import type { RecoveryReport } from '../store.ts'
import { bodyOf } from './encode-entry.ts'
import { eachRecord } from './each-record.ts'
import { withFileErrors } from './session-file-errors.ts'
import { type LogEnds, type Logs, logsOf } from './logs.ts'
import type { AppendPoint } from './append-point.ts'
import type { SessionPaths } from './paths.ts'
import type { WriterLock } from './session-lock.ts'
import { Snapshots } from './snapshots.ts'
import { formatManifest } from './staged-session.ts'
import { takeSpool } from './take-spool.ts'

/** Where things become large; by default, what suits a real disk. */
export interface Sizes {
  /** Data over this size goes to a blob. */
  inlineBytes?: number
  /** A segment of this size is followed by another. */
  segmentBytes?: number
  /** By how much a log grows at least, beyond what is needed. */
  growBytes?: number
  /** What an audit log keeps free for the moment when the disk is full. */
  spareBytes?: number
  /** After so many records a visitor takes a snapshot. */
  visitedRecords?: number
}

export interface HeldOptions {
  disk: Disk
  clock: Clock
  paths: SessionPaths
  lock: WriterLock
  hold: Hold
  guard: WriteGuard
  manifest: Manifest
  state: FoldedState
  report: RecoveryReport
  journal: AppendPoint
  audit: AppendPoint
  /** What the logs had when the newest snapshot was taken. */
  snapshotAt: { seq: number; bytes: number }
  /** The entries of visitors that are in the logs already, and whose files may still be there: their marks. */
  spooled: Set<string>
  /** After the lock was given back. */
  onReleased?: () => void
  sizes?: Sizes
}

/** The line that says that a disk is full must fit on it. */
const spareAuditBytes = 8 << 10

/** A session in plain files, held for writing. */
export class FilesystemSession implements HeldSession {
  readonly state: FoldedState
  readonly report: RecoveryReport
  readonly #options: HeldOptions
  readonly #logs: Logs
  readonly #blobs: Blobs
  readonly #snapshots: Snapshots
  readonly #journal: LogWriter
  #audit: LogWriter | undefined
  #manifest: Manifest
  #snapshotAt: { seq: number; bytes: number }
  #bytes = 0
  #released = false

  constructor(options: HeldOptions) {
    const { disk, paths, state, report, manifest, audit } = options
    this.#options = options
    this.state = state
    this.report = report
    this.#manifest = manifest
    this.#snapshotAt = options.snapshotAt
    this.#logs = logsOf(disk, paths)
    this.#blobs = new Blobs(disk, paths.blobs)
    this.#snapshots = new Snapshots(disk, paths)
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

  get sinceSnapshot(): { records: number; bytes: number } {
    return { records: this.lastSeq - this.#snapshotAt.seq, bytes: this.#snapshotAt.bytes + this.#bytes }
  }

  get snapshotDue(): boolean {
    return this.sinceSnapshot.records >= (this.#options.sizes?.visitedRecords ?? visitedRecords)
  }

  append(entry: Entry, options?: AppendOptions): Promise<Receipt> {
    return this.#append(entry, options)
  }

  audit(entry: Entry, applied?: (record: AuditRecord) => void): Promise<{ seq: number; hash: string }> {
    return this.#appendAudit(entry, applied)
  }

  #append(entry: Entry, options?: AppendOptions, mark?: string): Promise<Receipt> {
    const body = this.#bodyOf(entry, mark)
    this.#bytes += body.length
    return this.#journal.append(body, options)
  }

  async #appendAudit(
    entry: Entry,
    applied?: (record: AuditRecord) => void,
    mark?: string,
  ): Promise<{ seq: number; hash: string }> {
    const writer = this.#auditWriter()
    const { type, json } = entry
    let hash = ''
    const appended = writer.append(this.#bodyOf(entry, mark), {
      applied({ seq, at }) {
        hash = writer.position.tail
        applied?.(auditRecordOf({ seq, at, type, data: JSON.parse(json) as unknown, hash }))
      },
    })
    // At once: whoever waits for an intent waits to act, and nothing gathers meanwhile.
    writer.commit()
    const { seq } = await appended
    return { seq, hash }
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

  async snapshot(state: FoldedState, payloadOf: (ext: string) => string): Promise<void> {
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
      this.#snapshots.write(this.#ends(), state, clock.now(), checked, this.#options.spooled),
    )
    this.#snapshotAt = { seq: this.lastSeq, bytes: 0 }
    this.#bytes = 0
  }

  async takeSpool(applied: (record: AuditRecord) => void): Promise<void> {
    const { disk, paths, spooled, guard } = this.#options
    await takeSpool(disk, paths, spooled, (entry, mark) => this.#takeIn(guard.redact(entry), mark, applied))
  }

  /** Remembered the moment it counts: until its file is gone, this try or the next may fail, and a snapshot must tell of it. */
  async #takeIn(entry: SpoolEntry, mark: string, applied: (record: AuditRecord) => void): Promise<void> {
    const { spooled } = this.#options
    if (entry.log === 'journal') {
      await this.#append(entry, { applied: () => spooled.add(mark) }, mark)
      return
    }
    const remember = (record: AuditRecord): void => {
      spooled.add(mark)
      applied(record)
    }
    await this.#appendAudit(entry, remember, mark)
  }

  ends(): ReturnType<HeldSession['ends']> {
    const { journal, audit } = this.#ends()
    return { seq: journal.seq, crc: journal.tail, audit: { count: audit.seq, head: audit.tail } }
  }

  events(range?: { from?: number; to?: number }): AsyncIterable<LogRecord> {
    return this.#each(() => readRecords(this.#logs.journal, { to: this.lastSeq, ...range }))
  }

  eventsBackwards(): AsyncIterable<LogRecord> {
    return this.#each(() => readBackwards(this.#logs.journal, this.lastSeq + 1))
  }

  async *auditRecords(): AsyncIterable<AuditRecord> {
    for await (const record of this.#each(() => readRecords(this.#logs.audit))) yield auditRecordOf(record)
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
      let ends: LogEnds | undefined
      try {
        ends = this.#closeLogs()
      } finally {
        // Also when they cannot be closed: then the next one recovers them.
        this.#options.lock.release(ends)
        this.#options.onReleased?.()
      }
    })
  }

  #closeLogs(): LogEnds {
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

  #ends(): LogEnds {
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

  #writer(log: 'journal' | 'audit'): LogWriter {
    const { clock, lock, hold, guard, sizes } = this.#options
    const { from, continues } = this.#options[log]
    return new LogWriter({
      ...this.#logs[log],
      clock,
      epoch: lock.epoch,
      after: from,
      continues,
      assertOurs: () => lock.assertOurs(),
      inspect: (bytes) => guard.check(bytes),
      segmentBytes: sizes?.segmentBytes,
      growBytes: sizes?.growBytes,
      // What a visitor makes room for would only be cut off again.
      ...(hold.kind === 'visitor' ? { growBytes: 0 } : {}),
      ...(log === 'journal'
        ? { stamp: () => this.#stamp() }
        : { spareBytes: sizes?.spareBytes ?? spareAuditBytes }),
    })
  }

  /** How far the audit log has come, for the journal to attest. */
  #stamp(): string {
    const { seq, tail } = this.#audit?.position ?? this.#options.audit.from
    return seq === 0 ? '' : encodeField('audit', { count: seq, head: tail })
  }

  #bodyOf(entry: Entry, mark: string | undefined): string {
    const put = (json: string): BlobName => this.#explained('write a blob', () => this.#put(json))
    return bodyOf(entry, put, { mark, inlineBytes: this.#options.sizes?.inlineBytes })
  }

  #put(json: string): BlobName {
    this.#options.guard.check(Buffer.from(json))
    return this.#blobs.put(json)
  }

  #explained<T>(doing: string, act: () => T): T {
    return withFileErrors(doing, this.#options.paths.root, act)
  }
}
