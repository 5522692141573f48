import { giveWay } from '../../base/process/event-loop.ts'
import type { LogEnds, LogName } from '../log/codec.ts'
import type { Manifest } from '../manifest.ts'
import type { ReadableMedium, Region, RegionRange } from '../medium.ts'
import type { SessionSummary } from '../store.ts'
import { readSummary } from './list-sessions.ts'
import { type LogPositions, namedSeq } from './log-files.ts'
import { backwardRegions, forwardRegions } from './regions.ts'
import {
  type FoundSession,
  type SessionDirectory,
  sessionFileError,
  withFileErrors,
} from './session-directory.ts'
import type { ObservedLock } from './lock-record.ts'

/** A session in plain files. Takes no lock and changes nothing. */
export class ReadableFiles implements ReadableMedium {
  protected readonly directory: SessionDirectory
  readonly #manifest: Manifest
  readonly #lock: ObservedLock
  readonly #released: LogPositions | undefined
  #summary: SessionSummary | undefined

  /** `released`: where the last writer has closed the logs. */
  constructor({ directory, manifest }: FoundSession, lock: ObservedLock, released = lock.record?.ends) {
    this.directory = directory
    this.#manifest = manifest
    this.#lock = lock
    this.#released = released
  }

  get manifest(): Manifest {
    return this.#manifest
  }

  /** Read on demand: most callers need the manifest alone. */
  get summary(): SessionSummary {
    this.#summary ??= this.withErrors('read', () => readSummary(this.directory, this.manifest, this.#lock))
    return this.#summary
  }

  get ends(): LogEnds {
    const endOf = (log: LogName) => {
      const named = namedSeq(this.directory.logs[log])
      const end = this.#released?.[log]
      return end !== undefined && end.seq >= named ? { seq: end.seq, sum: end.sum } : { seq: named, sum: '' }
    }
    return this.withErrors('read', () => ({ journal: endOf('journal'), audit: endOf('audit') }))
  }

  async *regions(log: LogName, { from, backwards }: RegionRange): AsyncGenerator<Region> {
    const files = this.directory.logs[log]
    try {
      await giveWay()
      for (const region of backwards ? backwardRegions(files, from) : forwardRegions(files, from)) {
        yield region
        await giveWay()
      }
    } catch (error) {
      throw this.explain(error, 'read')
    }
  }

  async *blob(sha256: string): AsyncGenerator<Buffer> {
    try {
      yield* this.directory.readBlob(sha256)
    } catch (error) {
      throw this.explain(error, 'read')
    }
  }

  async state(names: readonly string[]): Promise<Map<string, string>> {
    return this.withErrors('read', () => this.directory.readState(names))
  }

  protected explain(error: unknown, verb: string): unknown {
    const { root } = this.directory.paths
    return sessionFileError(error, `${verb} session ${this.manifest.session_id}`, root)
  }

  protected withErrors<Result>(verb: string, act: () => Result): Result {
    return withFileErrors(`${verb} session ${this.manifest.session_id}`, this.directory.paths.root, act)
  }
}
