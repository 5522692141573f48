import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'
import { listIfExists } from '../../base/fs/disk.ts'
import { ensureHomeDirectory } from '../../base/fs/home.ts'
import { ownDirectoryProblem } from '../../base/fs/private-file.ts'
import { isSessionId } from '../../base/text/id.ts'
import type { RemovedSession } from '../create-store.ts'
import { factsOf } from '../manifest.ts'
import { sessionExists } from '../session-errors.ts'
import { SessionDirectory, type SessionsHome } from './session-directory.ts'

/** The sessions in the trash, newest removal first. Each has a manifest: anything else there is none. */
export function listRemovedSessions({ disk, trash }: SessionsHome): RemovedSession[] {
  const removed = listIfExists(disk, trash).flatMap((name): RemovedSession[] => {
    const path = join(trash, name)
    const stat = isSessionId(name) ? lstatSync(path, { throwIfNoEntry: false }) : undefined
    if (stat === undefined || ownDirectoryProblem(stat) !== undefined) return []
    const manifest = new SessionDirectory(disk, path).readManifest()
    if (manifest === undefined || !isNameOf(name, manifest.session_id)) return []
    // The move to the trash is the last change of the directory itself.
    const removedAt = Math.round(stat.ctimeMs)
    return [{ name, id: manifest.session_id, title: factsOf(manifest).title, removedAt }]
  })
  return removed.sort((a, b) => b.removedAt - a.removedAt || (a.name < b.name ? 1 : -1))
}

/** `<id>`, or `<id>-<ULID>` if the trash already had a session with that id. */
const isNameOf = (name: string, id: string): boolean =>
  name === id || (name.startsWith(`${id}-`) && /^[0-9A-HJKMNP-TV-Z]{26}$/.test(name.slice(id.length + 1)))

/** Moves a session from the trash back to its place, and returns its id. */
export async function restoreRemovedSession(home: SessionsHome, name: string): Promise<string> {
  const { disk, trash, sessions } = home
  const found = listRemovedSessions(home).find((each) => each.name === name)
  if (found === undefined)
    throw new StintError('NOT_FOUND', `there is no session ${name} in the trash`, {
      hint: '`stint sessions restore` lists what is there.',
    })
  const [from, to] = [join(trash, name), join(sessions, found.id)]
  await home.syncName()
  ensureHomeDirectory(trash)
  if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) throw sessionExists(found.id)
  try {
    // Fails if a session with this id was created just now: its directory is not empty.
    await disk.rename(from, to)
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw sessionExists(found.id)
    throw error
  }
  await syncMove(disk, from, to)
  return found.id
}

/** Syncs both directories after a rename, and takes it back if that fails: its caller hears of no move. */
export async function syncMove(disk: SessionsHome['disk'], from: string, to: string): Promise<void> {
  try {
    for (const path of [to, from]) await disk.syncDirectory(dirname(path))
  } catch (error) {
    await disk.rename(to, from)
    throw error
  }
}
