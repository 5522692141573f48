import { Blobs } from '../log/blobs.ts'
import { readBackwards, readRecords } from '../log/read.ts'
import type { LogRecord } from '../log/record.ts'
import type { Disk } from '../../base/fs/disk.ts'
import { runInTurns } from '../../base/process/run-generator.ts'
import type { ReadableSession, RecordRange } from '../driver.ts'
import type { LogName } from '../log/log-end.ts'
import type { Manifest } from '../manifest.ts'
import type { FoldedState } from '../state.ts'
import type { Health, SessionSummary } from '../store.ts'
import { eachRecord } from './each-record.ts'
import { sessionFileError } from './session-file-errors.ts'
import { type Logs, logsOf } from './logs.ts'
import type { SessionPaths } from './paths.ts'
import { recoverSession, sourcesIn } from './recover.ts'
import { observeLock, SessionLock } from './session-lock.ts'
import { readSummary } from './summary.ts'
import { verifyInSteps } from './verify.ts'

/** A session in plain files, to read: nothing is locked and nothing is changed. */
export class ReadableFiles implements ReadableSession {
  readonly manifest: Manifest
  readonly #disk: Disk
  readonly #paths: SessionPaths
  readonly #logs: Logs
  readonly #blobs: Blobs
  #summary: SessionSummary | undefined

  constructor(disk: Disk, paths: SessionPaths, manifest: Manifest) {
    this.manifest = manifest
    this.#disk = disk
    this.#paths = paths
    this.#logs = logsOf(disk, paths)
    this.#blobs = new Blobs(disk, paths.blobs)
  }

  /** Made when it is asked for: whoever wants the manifest alone need not wait for it. */
  get summary(): SessionSummary {
    this.#summary ??= this.#explained(() =>
      readSummary(this.#disk, this.#paths, this.manifest, observeLock(this.#paths.root)),
    )
    return this.#summary
  }

  records(log: LogName, range?: RecordRange): AsyncIterable<LogRecord> {
    return this.#each(() => readRecords(this.#logs[log], range))
  }

  newestFirst(): AsyncIterable<LogRecord> {
    return this.#each(() => readBackwards(this.#logs.journal))
  }

  async state(): Promise<FoldedState> {
    return this.#explained(() => recoverSession(sourcesIn(this.#disk, this.#paths, this.manifest)).state)
  }

  /** Against what the last writer says, too: a visitor attests the end nowhere else. */
  async verify(onBytes?: (done: number) => void): Promise<Health> {
    try {
      const released = SessionLock.look(this.#paths.root)?.ends
      // In turns: a large session takes seconds, and a signal must be heard meanwhile.
      const sources = sourcesIn(this.#disk, this.#paths, this.manifest, released)
      return await runInTurns(verifyInSteps({ ...sources, onBytes }))
    } catch (error) {
      throw this.#explain(error)
    }
  }

  #each(read: () => Iterable<LogRecord>): AsyncIterable<LogRecord> {
    return eachRecord(this.#paths.root, this.#blobs, read)
  }

  #explained<T>(act: () => T): T {
    try {
      return act()
    } catch (error) {
      throw this.#explain(error)
    }
  }

  #explain(error: unknown): unknown {
    return sessionFileError(error, `read session ${this.manifest.session_id}`, this.#paths.root)
  }
}
