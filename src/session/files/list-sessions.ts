import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../../base/errors/stint-error.ts'
import type { Disk } from '../../base/fs/disk.ts'
import { ownDirectoryProblem } from '../../base/fs/own-directory.ts'
import { isSessionId } from '../../base/text/id.ts'
import type { SessionSummary } from '../store.ts'
import { filesystemId, namesIn, readManifestFile } from './find-session.ts'
import { ListCache } from './list-cache.ts'
import { type SessionPaths, sessionPathsIn } from './paths.ts'
import { observeLock } from './session-lock.ts'
import { readSummary, rejudge } from './summary.ts'

/** All sessions in a directory, the newest activity first. Sessions that have not changed come from the cache. */
export function listSessions(
  disk: Disk,
  sessions: string,
  cache: ListCache = new ListCache(sessions),
): SessionSummary[] {
  const ids = new Set(namesIn(disk, sessions).filter(isSessionId))
  const summaries = cache.takeUnchanged(ids).map(rejudge)
  for (const id of ids) {
    const summary = look(disk, sessionPathsIn(join(sessions, id)), id, cache)
    if (summary !== undefined) summaries.push(summary)
  }
  summaries.sort(newestFirst)
  cache.save(summaries)
  return summaries
}

const newestFirst = (a: SessionSummary, b: SessionSummary): number =>
  b.lastAt - a.lastAt || (a.id < b.id ? -1 : 1)

/** Errors of this process or machine, which say nothing about a session. */
const temporary = new Set(['EMFILE', 'ENFILE', 'ENOMEM'])

/** The summary of a session, from its own files; undefined if the directory is no session. */
function look(disk: Disk, paths: SessionPaths, id: string, cache: ListCache): SessionSummary | undefined {
  const stat = lstatSync(paths.root, { throwIfNoEntry: false })
  if (stat === undefined || ownDirectoryProblem(stat) !== undefined) return undefined
  try {
    // The lock first: if no process holds it now, everything that is read after it is complete.
    const lock = observeLock(paths.root)
    const manifest = readManifestFile(disk, paths)
    if (manifest?.session_id === id) {
      const summary = readSummary(disk, paths, manifest, lock)
      if (lock.standing !== 'held' && lock.standing !== 'silent') cache.keep(summary, lock.record?.epoch ?? 0)
      return summary
    }
  } catch (error) {
    if (temporary.has(errorCode(error) ?? '')) throw error
  }
  // A session that cannot be read is listed as damaged. A directory without session files was removed just now, or
  // never was a session.
  const names = listIfReadable(disk, paths.root)
  if (names !== undefined && !names.some((name) => sessionFiles.has(name))) return undefined
  const at = Math.floor(stat.mtimeMs)
  const nothing = { turns: 0, records: 0, bytes: 0 }
  return { id, store: filesystemId, state: 'damaged', createdAt: at, lastAt: at, ...nothing }
}

const sessionFiles = new Set(['manifest.json', 'journal.log', 'lock', 'audit', 'snapshots'])

/** The names in a directory, none if it is missing; undefined if it cannot be read. */
function listIfReadable(disk: Disk, directory: string): string[] | undefined {
  try {
    return disk.list(directory)
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? [] : undefined
  }
}
