import { runToEnd } from '../../base/process/run-generator.ts'
import type { ReadableSession, RecordRange } from '../driver.ts'
import type { LogName } from '../log/log-end.ts'
import { readBackwards, readRecords } from '../log/read.ts'
import type { LogRecord } from '../log/record.ts'
import { attestedBy, type Manifest } from '../manifest.ts'
import type { FoundRecord, SearchQuery } from '../search-query.ts'
import type { FoldedState } from '../state.ts'
import type { Health, SessionSummary } from '../store.ts'
import { readWithData, recoverSession } from './recover.ts'
import type { FoundSession, SessionDirectory } from './session-directory.ts'
import { sessionFileError, withFileErrors } from './session-file-errors.ts'
import { observeLock } from './session-lock.ts'
import { readSummary } from './summary.ts'
import { verifySession } from './verify.ts'

/** A session in plain files, opened for reading. Takes no lock and changes nothing. */
export class ReadableFiles implements ReadableSession {
  readonly manifest: Manifest
  readonly #directory: SessionDirectory
  readonly #doing: string
  #summary: SessionSummary | undefined

  constructor({ directory, manifest }: FoundSession) {
    this.manifest = manifest
    this.#directory = directory
    this.#doing = `read session ${manifest.session_id}`
  }

  /** Read on demand: most callers need the manifest alone. */
  get summary(): SessionSummary {
    this.#summary ??= this.#withErrors(() =>
      runToEnd(readSummary(this.#directory, this.manifest, observeLock(this.#directory.paths.root))),
    )
    return this.#summary
  }

  records(log: LogName, range?: RecordRange): AsyncIterable<LogRecord> {
    return this.#read(() => readRecords(this.#directory.logs[log], { ...range, attested: this.#attested }))
  }

  newestFirst(): AsyncIterable<LogRecord> {
    return this.#read(() => readBackwards(this.#directory.logs.journal, { attested: this.#attested }))
  }

  /** A fork may end within an append of several records: its manifest says that they count. */
  get #attested(): number {
    return attestedBy(this.manifest).seq
  }

  async *search(query: SearchQuery, onBytes: (bytes: number) => void): AsyncGenerator<FoundRecord> {
    const { searchSession } = await import('./search-session.ts')
    try {
      yield* searchSession(this.#directory, query, onBytes, this.#attested)
    } catch (error) {
      throw sessionFileError(error, this.#doing, this.#directory.paths.root)
    }
  }

  async state(): Promise<FoldedState> {
    const recovered = await this.#withErrors(() => recoverSession(this.#directory, this.manifest))
    return recovered.state
  }

  async verify(onBytes?: (done: number) => void): Promise<Health> {
    return await this.#withErrors(() => {
      // A visitor attests the end of the logs in the lock only.
      const released = observeLock(this.#directory.paths.root).record?.ends
      return verifySession(this.#directory, { manifest: this.manifest, released, onBytes })
    })
  }

  #read(read: () => Iterable<LogRecord>): AsyncIterable<LogRecord> {
    return readWithData(this.#directory, this.manifest.session_id, read)
  }

  #withErrors<Result>(act: () => Result): Result {
    return withFileErrors(this.#doing, this.#directory.paths.root, act)
  }
}
