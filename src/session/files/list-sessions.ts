import { lstatSync, readdirSync, renameSync, unlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { errorCode } from '../../base/errors/stint-error.ts'
import { type Disk, listIfExists } from '../../base/fs/disk.ts'
import { homeError, withHomeErrors } from '../../base/fs/home.ts'
import { measureTree } from '../../base/fs/measure-tree.ts'
import { createPrivateFile, ensureOwnDirectory, ownDirectoryProblem } from '../../base/fs/private-file.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import { isSessionId } from '../../base/text/id.ts'
import { type CheckedHeader, linesBackwards } from '../log/record.ts'
import { attestedBy, byLastActivity, type Manifest, matchesFilter, summarize } from '../manifest.ts'
import type { ListOptions, SessionSummary } from '../store.ts'
import { backwardRegions } from './regions.ts'
import { filesystemId, SessionDirectory } from './session-directory.ts'
import { type ObservedLock, observeLock, sessionState } from './lock-record.ts'

/**
 * Lists the sessions in a directory, in no particular order, and writes nothing. With `newest`, it reads only
 * sessions that can be among the newest, by the times in `.recent/`.
 */
export async function listSessions(
  disk: Disk,
  sessions: string,
  options: ListOptions = {},
): Promise<SessionSummary[]> {
  const { newest = Number.POSITIVE_INFINITY, prefix = '' } = options
  const summaries: SessionSummary[] = []
  try {
    const ids = sessionIdsIn(disk, sessions).filter((id) => id.startsWith(prefix))
    for (const { id, latest } of latestFirst(sessions, ids)) {
      if (summaries.length === newest && latest < oldestActivity(summaries)) break
      const directory = new SessionDirectory(disk, join(sessions, id))
      await giveWay()
      const summary = await summaryOf(directory, id)
      if (summary === undefined || !matchesFilter(summary, options)) continue
      summaries.push(summary)
      if (summaries.length > newest) summaries.sort(byLastActivity).pop()
    }
  } catch (error) {
    throw homeError(error, dirname(sessions), 'list the sessions')
  }
  return summaries
}

const oldestActivity = (summaries: readonly SessionSummary[]): number =>
  Math.min(...summaries.map(({ lastAt }) => lastAt))

/** Orders sessions by the latest time that their last record can have. An unknown one may be the newest. */
function latestFirst(sessions: string, ids: readonly string[]): { id: string; latest: number }[] {
  const activities = readActivities(sessions)
  const latestOf = (id: string): number => activities.get(id) ?? Number.POSITIVE_INFINITY
  return ids.map((id) => ({ id, latest: latestOf(id) })).sort((a, b) => b.latest - a.latest)
}

/** Errors of this process or machine, which say nothing about a session. */
const temporaryCodes = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'TOO_MANY_FILES'])

/** Reads the summary of a session; undefined if the directory is not a session. */
async function summaryOf(directory: SessionDirectory, id: string): Promise<SessionSummary | undefined> {
  const { root } = directory.paths
  const stat = lstatSync(root, { throwIfNoEntry: false })
  if (stat === undefined || ownDirectoryProblem(stat) !== undefined) return undefined
  try {
    // The lock first: if no process holds it now, the writes of every holder so far are complete.
    const lock = await observeLock(root)
    const manifest = directory.readManifest()
    if (manifest?.session_id === id) return readSummary(directory, manifest, lock)
  } catch (error) {
    if (temporaryCodes.has(errorCode(error) ?? '')) throw error
  }
  // A session that cannot be read is listed as damaged. A directory without the files of a session never was
  // one, or was removed just now.
  if (!mayHaveSessionFiles(directory)) return undefined
  const at = Math.floor(stat.mtimeMs)
  const counts = { records: 0, bytes: 0 }
  return { id, store: filesystemId, state: 'damaged', createdAt: at, lastAt: at, ...counts }
}

const sessionFiles = new Set(['manifest.json', 'journal.log', 'lock', 'audit', 'state'])

/** A directory that cannot be listed may have any files. */
function mayHaveSessionFiles({ disk, paths }: SessionDirectory): boolean {
  try {
    return disk.list(paths.root).some((name) => sessionFiles.has(name))
  } catch (error) {
    return errorCode(error) !== 'ENOENT'
  }
}

/** Reads the summary of a session. The lock must have been observed before the manifest was. */
export function readSummary(
  directory: SessionDirectory,
  manifest: Manifest,
  { record, standing }: ObservedLock,
): SessionSummary {
  const { bytes, disk_bytes } = measureTree(directory.paths.root)
  // The holder that has closed the logs has left their end in the lock.
  const last =
    record?.ends !== undefined && record.latestAt !== undefined
      ? { seq: record.ends.journal.seq, at: record.latestAt }
      : lastRecordIn(directory, manifest)
  return summarize(manifest, {
    state: sessionState(standing, record?.holder, directory.damageNote() !== undefined),
    lastAt: last?.at,
    records: last?.seq ?? 0,
    bytes,
    diskBytes: disk_bytes,
    holder: record?.holder,
  })
}

/** The header of the last record of the journal that counts; undefined if there is none. */
export function lastRecordIn({ logs }: SessionDirectory, manifest: Manifest): CheckedHeader | undefined {
  const attested = attestedBy(manifest).seq
  // Returning from `for…of` runs the generator's cleanup, which closes the file.
  for (const region of backwardRegions(logs.journal))
    for (const { header } of linesBackwards(region))
      if (header !== undefined && (header.seq <= attested || !header.continued)) return header
  return undefined
}

/** The ids of all directories that can be sessions; whether each can be read, only reading it shows. */
export const sessionIdsIn = (disk: Disk, sessions: string): string[] =>
  withHomeErrors(dirname(sessions), 'list the sessions', () => listIfExists(disk, sessions)).filter(
    isSessionId,
  )

/**
 * For lists, `sessions/.recent/` has an empty file `<id>@<ms>` a session: the latest time that its last
 * record can have. So one directory listing orders all sessions. Nothing is synced: a session whose name is
 * missing is read by every list.
 */
const recentName = '.recent'

/** Renames the file of the session in a directory; makes it if it is missing. */
export function noteActivity(root: string, before: number | undefined, latestAt: number): void {
  const path = recentPath(root, latestAt)
  try {
    if (before !== undefined && renameIfThere(recentPath(root, before), path)) return
    if (ensureOwnDirectory(dirname(path)) === undefined) createPrivateFile(path, '')
  } catch (error) {
    // Lists would believe the old name. Without it, they read the session.
    if (errorCode(error) !== 'EEXIST' && before !== undefined) forgetActivity(root, before)
  }
}

/** Removes the file of a session that goes to the trash. This works on a full disk, too. */
export function forgetActivity(root: string, latestAt: number): void {
  ifPossible(() => unlinkSync(recentPath(root, latestAt)))
}

/** The latest time that the last record of each session can have, by id. */
function readActivities(sessions: string): Map<string, number> {
  const activities = new Map<string, number>()
  for (const name of ifPossible(() => readdirSync(join(sessions, recentName))) ?? []) {
    const [, id = '', digits = ''] = /^([^@]+)@(\d{1,15})$/.exec(name) ?? []
    // A power cut, or two processes at once, may leave several: the latest one counts.
    if (id !== '') activities.set(id, Math.max(Number(digits), activities.get(id) ?? 0))
  }
  return activities
}

const recentPath = (root: string, latestAt: number): string =>
  join(dirname(root), recentName, `${basename(root)}@${latestAt}`)

function renameIfThere(from: string, to: string): boolean {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}
