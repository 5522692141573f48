import { lstatSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'
import { type Disk, listIfExists } from '../../base/fs/disk.ts'
import { ensureHomeDirectory } from '../../base/fs/home.ts'
import { ownDirectoryProblem } from '../../base/fs/private-file.ts'
import { isSessionId, ulid } from '../../base/text/id.ts'
import type { RemovedSession } from '../create-store.ts'
import { factsOf } from '../manifest.ts'
import { sessionExists, sessionLocked } from '../session-errors.ts'
import { forgetActivity } from './list-sessions.ts'
import { observeLock } from './lock-record.ts'
import { assertFilesystemManifest, SessionDirectory } from './session-directory.ts'

/** The sessions in the trash, newest removal first. Each has a manifest: anything else there is none. */
export function listRemovedSessions(disk: Disk, trash: string): RemovedSession[] {
  const sessions = listIfExists(disk, trash).flatMap((name): RemovedSession[] => {
    const path = join(trash, name)
    const stat = isSessionId(name) ? lstatSync(path, { throwIfNoEntry: false }) : undefined
    if (stat === undefined || ownDirectoryProblem(stat) !== undefined) return []
    const manifest = new SessionDirectory(disk, path).readManifest()
    if (manifest === undefined || !isNameOf(name, manifest.session_id)) return []
    // The move to the trash is the last change of the directory itself.
    const removedAt = Math.round(stat.ctimeMs)
    return [{ name, id: manifest.session_id, title: factsOf(manifest).title, removedAt }]
  })
  return sessions.sort((a, b) => b.removedAt - a.removedAt || (a.name < b.name ? 1 : -1))
}

/** `<id>`, or `<id>-<ULID>` if the trash already had a session with that id. */
const isNameOf = (name: string, id: string): boolean =>
  name === id || (name.startsWith(`${id}-`) && /^[0-9A-HJKMNP-TV-Z]{26}$/.test(name.slice(id.length + 1)))

/** Moves a session from the trash back to its place, and returns its id. */
export async function restoreRemovedSession(
  { disk, trash, sessions }: { disk: Disk; trash: string; sessions: string },
  name: string,
): Promise<string> {
  const removed = listRemovedSessions(disk, trash).find((session) => session.name === name)
  if (removed === undefined)
    throw new StintError('NOT_FOUND', `there is no session ${name} in the trash`, {
      hint: '`stint sessions restore` lists what is there.',
    })
  const [from, to] = [join(trash, name), join(sessions, removed.id)]
  ensureHomeDirectory(trash)
  if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) throw sessionExists(removed.id)
  try {
    // Fails if a session with this id was created just now: its directory is not empty.
    await disk.rename(from, to)
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw sessionExists(removed.id)
    throw error
  }
  await syncMove(disk, from, to)
  return removed.id
}

/** Syncs both directories after a rename, and takes it back if that fails: its caller hears of no move. */
async function syncMove(disk: Disk, from: string, to: string): Promise<void> {
  try {
    for (const path of [to, from]) await disk.syncDirectory(dirname(path))
  } catch (error) {
    await disk.rename(to, from)
    throw error
  }
}

/**
 * Moves a session to the trash, and returns where it is then. Takes no lock, which would need room on a full
 * disk: a process that opens the session at this moment has no lock after its next sync: `FENCED`.
 */
export async function moveSessionToTrash(directory: SessionDirectory, trash: string): Promise<string> {
  const { disk, paths } = directory
  const { root } = paths
  const id = basename(root)
  // A session whose manifest is invalid can be removed, too.
  const manifest = directory.readManifest()
  if (manifest !== undefined) assertFilesystemManifest(manifest)
  const { standing, record } = await observeLock(root)
  if (standing === 'held') throw sessionLocked(id, record?.holder)
  ensureHomeDirectory(trash)
  const trashed = join(trash, listIfExists(disk, trash).includes(id) ? `${id}-${ulid()}` : id)
  await disk.rename(root, trashed)
  await syncMove(disk, root, trashed)
  if (record?.latestAt !== undefined) forgetActivity(root, record.latestAt)
  return trashed
}
