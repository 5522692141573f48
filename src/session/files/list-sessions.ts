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
import { ListCache } from './list-cache.ts'
import { filesystemId, SessionDirectory, sessionIdsIn } from './session-directory.ts'
import { observeLock } from './session-lock.ts'
import { readSummary } from './summary.ts'

/** Lists the sessions in a directory. Unchanged sessions come from the cache. */
export async function listSessions(
  disk: Disk,
  sessions: string,
  cache: ListCache = new ListCache(sessions),
): Promise<SessionSummary[]> {
  try {
    const ids = new Set(sessionIdsIn(disk, sessions))
    const summaries = cache.extractUnchanged(ids).map(rejudge)
    for (const id of ids) {
      const summary = await runInTurns(summaryOf(new SessionDirectory(disk, join(sessions, id)), id, cache))
      if (summary !== undefined) summaries.push(summary)
    }
    cache.save()
    return summaries
  } catch (error) {
    throw homeError(error, dirname(sessions), 'list the sessions')
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

/** Reads the summary of a session; undefined if the directory is not a session. */
function* summaryOf(
  directory: SessionDirectory,
  id: string,
  cache: ListCache,
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
      if (lock.standing !== 'held' && lock.standing !== 'silent')
        cache.keep(summary, lock.record?.holdEpoch ?? 0)
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
