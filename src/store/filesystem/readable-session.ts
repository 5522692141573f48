import type { AuditRecord } from '../../audit/entry.ts'
import { auditRecordOf } from '../../audit/record.ts'
import { Blobs } from '../../journal/blobs.ts'
import { readBackwards, readRecords } from '../../journal/read.ts'
import type { LogRecord } from '../../journal/record.ts'
import type { Disk } from '../../primitives/disk.ts'
import type { ReadableSession } from '../driver.ts'
import type { Manifest } from '../manifest.ts'
import type { SessionState } from '../state.ts'
import type { Health, SessionSummary } from '../store.ts'
import { type Logs, logsOf } from './logs.ts'
import type { SessionPaths } from './paths.ts'
import { readData, recover } from './recover.ts'
import { Snapshots } from './snapshots.ts'
import { verify } from './verify.ts'

/** A session in plain files, to read: nothing is locked and nothing is changed. */
export class ReadableFiles implements ReadableSession {
  readonly manifest: Manifest
  readonly summary: SessionSummary
  readonly #disk: Disk
  readonly #paths: SessionPaths
  readonly #logs: Logs
  readonly #blobs: Blobs

  constructor(disk: Disk, paths: SessionPaths, manifest: Manifest, summary: SessionSummary) {
    this.manifest = manifest
    this.summary = summary
    this.#disk = disk
    this.#paths = paths
    this.#logs = logsOf(disk, paths)
    this.#blobs = new Blobs(disk, paths.blobs)
  }

  async *events(range?: { from?: number; to?: number }): AsyncIterable<LogRecord> {
    for (const record of readRecords(this.#logs.journal, range)) yield readData(record, this.#blobs)
  }

  async *eventsBackwards(): AsyncIterable<LogRecord> {
    for (const record of readBackwards(this.#logs.journal)) yield readData(record, this.#blobs)
  }

  async *audit(): AsyncIterable<AuditRecord> {
    for (const record of readRecords(this.#logs.audit)) yield auditRecordOf(readData(record, this.#blobs))
  }

  async state(): Promise<SessionState> {
    return recover(this.#sources()).state
  }

  async verify(onBytes?: (done: number) => void): Promise<Health> {
    return verify({ ...this.#sources(), onBytes })
  }

  #sources(): Parameters<typeof recover>[0] {
    const snapshots = new Snapshots(this.#disk, this.#paths)
    return { logs: this.#logs, snapshots, blobs: this.#blobs, manifest: this.manifest }
  }
}
