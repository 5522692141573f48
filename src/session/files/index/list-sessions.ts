import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import type { Disk } from '../../../base/fs/disk.ts'
import { isSessionId } from '../../../base/text/id.ts'
import { ownDirectoryProblem } from '../../../base/fs/own-directory.ts'
import { errorCode } from '../../../base/errors/stint-error.ts'
import type { SessionSummary } from '../../store.ts'
import { filesystemId, namesIn, readManifestFile } from '../find-session.ts'
import { sessionPathsIn, type SessionPaths } from '../paths.ts'
import { type Look, readSummary } from '../summary.ts'
import { indexDirectory } from './index-touch.ts'
import { newestFirst, SessionIndex } from './session-index.ts'

/** All sessions that are there, as the index knows them, or as they themselves say; the newest activity first. */
export function listSessions(
  disk: Disk,
  sessions: string,
  index: SessionIndex = new SessionIndex(indexDirectory(sessions)),
): SessionSummary[] {
  const known = index.read()
  const names = new Set(namesIn(disk, sessions))
  const summaries: SessionSummary[] = []
  // In the order of the index, which is nearly that of the list.
  for (const summary of known.summaries()) if (names.delete(summary.id)) summaries.push(summary)
  const fresh: Look[] = []
  for (const name of names) {
    const look = isSessionId(name) ? lookInto(disk, sessionPathsIn(join(sessions, name)), name) : undefined
    if (look !== undefined) fresh.push(look)
  }
  for (const { summary } of fresh) summaries.push(summary)
  known.keep(fresh, summaries)
  return summaries.sort(newestFirst)
}

/** What runs out, or is over in a moment, says nothing about a session. */
const ourOwnTroubles = new Set(['EMFILE', 'ENFILE', 'ENOMEM'])

/** Undefined if it is no session. One that cannot be read is damaged, with what is known of it: nothing vanishes from a list. */
function lookInto(disk: Disk, paths: SessionPaths, id: string): Look | undefined {
  const stat = lstatSync(paths.root, { throwIfNoEntry: false })
  if (stat === undefined || ownDirectoryProblem(stat) !== undefined) return undefined
  try {
    const manifest = readManifestFile(disk, paths)
    if (manifest?.session_id === id) return readSummary(disk, paths, manifest)
  } catch (error) {
    if (ourOwnTroubles.has(errorCode(error) ?? '')) throw error
  }
  // It was removed meanwhile, or was never one.
  const names = readableNames(disk, paths.root)
  if (names !== undefined && !names.some((name) => sessionFiles.has(name))) return undefined
  const at = Math.floor(stat.mtimeMs)
  return {
    summary: {
      id,
      store: filesystemId,
      state: 'damaged',
      createdAt: at,
      lastAt: at,
      turns: 0,
      records: 0,
      bytes: 0,
    },
    // Not for the index: whoever puts it right need not touch it.
    epoch: -1,
  }
}

const sessionFiles = new Set(['manifest.json', 'journal.log', 'lock', 'audit', 'snapshots'])

/** Undefined if it cannot be read. */
function readableNames(disk: Disk, directory: string): string[] | undefined {
  try {
    return disk.list(directory)
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? [] : undefined
  }
}
