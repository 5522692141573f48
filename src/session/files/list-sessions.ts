import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode } from '../../base/errors/stint-error.ts'
import type { Disk } from '../../base/fs/disk.ts'
import { homeError } from '../../base/fs/home.ts'
import { ownDirectoryProblem } from '../../base/fs/own-directory.ts'
import { liveness } from '../../base/process/liveness.ts'
import { runInTurns } from '../../base/process/run-generator.ts'
import { holderStanding, sessionState } from '../holder.ts'
import type { SessionSummary } from '../store.ts'
import { ListCache, stampOfNames } from './list-cache.ts'
import { filesystemId, SessionDirectory, sessionIdsIn } from './session-directory.ts'
import { observeLock } from './session-lock.ts'
import { readSummary } from './summary.ts'

/** Lists the sessions in a directory. Unchanged sessions come from the cache. */
export const listSessions = (
  disk: Disk,
  sessions: string,
  cache: ListCache = new ListCache(sessions),
): Promise<SessionSummary[]> => new RepeatedList(disk, sessions).listAll(undefined, cache)

/**
 * Lists the sessions in a directory again and again. While no name in the directory and in its cache changes,
 * only the sessions that were held at the last list are read again.
 */
export class RepeatedList {
  readonly #disk: Disk
  readonly #sessions: string
  #stamp: string | undefined
  /** The sessions that the cache has kept: their next holder changes a name in the cache. */
  #kept: readonly SessionSummary[] = []
  /** The ids of all others. */
  #others: readonly string[] = []

  constructor(disk: Disk, sessions: string) {
    this.#disk = disk
    this.#sessions = sessions
  }

  async list(): Promise<SessionSummary[]> {
    // The stamp first: a name that changes during the list makes the next list read all names.
    const stamp = stampOfNames(this.#sessions)
    if (stamp === undefined || stamp !== this.#stamp) return await this.listAll(stamp)
    const kept = this.#kept.map(rejudge)
    let isReleased = false
    const others = await this.#read(this.#others, () => (isReleased = true))
    return isReleased ? await this.listAll(stamp) : [...kept, ...others]
  }

  /** Lists by the names in the directory, and saves the cache. `stamp` was read before. */
  async listAll(stamp?: string, cache: ListCache = new ListCache(this.#sessions)): Promise<SessionSummary[]> {
    try {
      const ids = new Set(sessionIdsIn(this.#disk, this.#sessions))
      const unchanged = cache.extractUnchanged(ids).map(rejudge)
      const read = await this.#read(ids, (summary, holdEpoch) => cache.keep(summary, holdEpoch))
      cache.save()
      this.#stamp = stamp
      this.#kept = cache.kept
      for (const { id } of this.#kept) ids.delete(id)
      this.#others = [...ids]
      return [...unchanged, ...read]
    } catch (error) {
      this.#stamp = undefined
      throw homeError(error, dirname(this.#sessions), 'list the sessions')
    }
  }

  async #read(ids: Iterable<string>, keep: Keep): Promise<SessionSummary[]> {
    const summaries: SessionSummary[] = []
    for (const id of ids) {
      const directory = new SessionDirectory(this.#disk, join(this.#sessions, id))
      const summary = await runInTurns(summaryOf(directory, id, keep))
      if (summary !== undefined) summaries.push(summary)
    }
    return summaries
  }
}

/** Judges the state of a cached summary again: a dead holder may be invisible from this process. */
function rejudge(summary: SessionSummary): SessionSummary {
  const { holder, state } = summary
  if (holder === undefined) return summary
  const standing = holderStanding(holder, liveness(holder.process), Date.now())
  return { ...summary, state: sessionState(standing, holder, state === 'damaged') }
}

/** Errors of this process or machine, which say nothing about a session. */
const temporary = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'TOO_MANY_FILES'])

/** Gets a summary that was read when no process held the lock. `holdEpoch` is that of the last hold. */
type Keep = (summary: SessionSummary, holdEpoch: number) => void

/** Reads the summary of a session; undefined if the directory is not a session. */
function* summaryOf(
  directory: SessionDirectory,
  id: string,
  keep: Keep,
): Generator<void, SessionSummary | undefined> {
  const { root } = directory.paths
  const stat = lstatSync(root, { throwIfNoEntry: false })
  if (stat === undefined || ownDirectoryProblem(stat) !== undefined) return undefined
  try {
    // The lock first: if no process holds it now, the writes of every holder so far are complete.
    const lock = observeLock(root)
    const manifest = directory.readManifest()
    if (manifest?.session_id === id) {
      const summary = yield* readSummary(directory, manifest, lock)
      if (lock.standing !== 'held' && lock.standing !== 'silent') keep(summary, lock.record?.holdEpoch ?? 0)
      return summary
    }
  } catch (error) {
    if (temporary.has(errorCode(error) ?? '')) throw error
  }
  // A session that cannot be read is listed as damaged. A directory without the files of a session never was
  // one, or was removed just now.
  if (!mayHaveSessionFiles(directory)) return undefined
  const at = Math.floor(stat.mtimeMs)
  const counts = { turns: 0, records: 0, bytes: 0 }
  return { id, store: filesystemId, state: 'damaged', createdAt: at, lastAt: at, ...counts }
}

const sessionFiles = new Set(['manifest.json', 'journal.log', 'lock', 'audit', 'snapshots'])

/** A directory that cannot be listed may have any files. */
function mayHaveSessionFiles({ disk, paths }: SessionDirectory): boolean {
  try {
    return disk.list(paths.root).some((name) => sessionFiles.has(name))
  } catch (error) {
    return errorCode(error) !== 'ENOENT'
  }
}
