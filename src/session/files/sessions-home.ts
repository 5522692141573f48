import { lstatSync, readdirSync, renameSync, unlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'
import { adaptiveDiskAt } from '../../base/fs/adaptive-disk.ts'
import { type Disk, listIfExists, readFile } from '../../base/fs/disk.ts'
import {
  assertOwnHomeDirectory,
  ensureHome,
  ensureHomeDirectory,
  withHomeErrors,
} from '../../base/fs/home.ts'
import { createPrivateFile, ensureOwnDirectory, ownDirectoryProblem } from '../../base/fs/private-file.ts'
import { type Clock, systemClock } from '../../base/process/clock.ts'
import { isSessionId } from '../../base/text/id.ts'
import type { RemovedSession } from '../create-store.ts'
import { factsOf, type Manifest, parseManifest } from '../manifest.ts'
import { assertWrittenBy, checkSessionId, sessionExists, sessionNotFound } from '../session-errors.ts'
import { SessionDirectory } from './session-directory.ts'

/** The id of this store, which each of its manifests names. */
export const filesystemId = 'filesystem'

/** The directory of all sessions in a home. */
export const sessionsDirectoryIn = (home: string): string => join(home, 'sessions')

/** The ids of all directories that can be sessions; whether each can be read, only reading it shows. */
export const sessionIdsIn = (disk: Disk, sessions: string): string[] =>
  withHomeErrors(dirname(sessions), 'list the sessions', () => listIfExists(disk, sessions)).filter(
    isSessionId,
  )

/** A session and its manifest. */
export interface FoundSession {
  directory: SessionDirectory
  manifest: Manifest
}

/** The sessions of one home. */
export class SessionsHome {
  readonly path: string
  readonly sessions: string
  readonly trash: string
  readonly clock: Clock
  readonly #disk: Disk | undefined
  #isNameSynced = false

  /** Tests pass a disk that fails or counts. */
  constructor(path: string, disk?: Disk, clock: Clock = systemClock) {
    this.path = path
    this.sessions = sessionsDirectoryIn(path)
    this.trash = join(path, 'trash')
    this.#disk = disk
    this.clock = clock
  }

  /** The disk that has the directory of all sessions. */
  get disk(): Disk {
    return this.#disk ?? adaptiveDiskAt(this.sessions)
  }

  /** Makes the directory of all sessions, or checks the one that exists. */
  ensure(): void {
    ensureHome(this.path)
    ensureHomeDirectory(this.sessions)
  }

  /** Makes the name of the directory of all sessions durable. */
  async syncName(): Promise<void> {
    if (this.#isNameSynced) return
    const { disk } = this
    await disk.syncDirectory(this.path)
    try {
      await disk.syncDirectory(dirname(this.path))
    } catch {
      // The parent of the home may belong to another user, and not be readable.
    }
    this.#isNameSynced = true
  }

  /** The directory of a session, whether or not it exists. */
  directoryOf(id: string): SessionDirectory {
    checkSessionId(id)
    return new SessionDirectory(this.disk, join(this.sessions, id))
  }

  /** Finds the directory of a session. `NOT_FOUND`; `HOME_UNSAFE` for a link or another user's directory. */
  locate(id: string): SessionDirectory {
    const directory = this.directoryOf(id)
    const { root } = directory.paths
    const stat = this.#find(id, () => lstatSync(root, { throwIfNoEntry: false }))
    assertOwnHomeDirectory(root, stat)
    return directory
  }

  /** Finds a session. Its manifest is read first, because it tells whether this store wrote the session. */
  find(id: string): FoundSession {
    const directory = this.locate(id)
    const path = directory.paths.manifest
    const manifest = parseManifest(this.#find(id, () => readFile(this.disk, path)).toString())
    if (manifest === undefined || manifest.session_id !== id)
      throw new StintError('JOURNAL_CORRUPT', `the manifest of ${id} is invalid: ${path}`)
    assertFilesystemManifest(manifest)
    return { directory, manifest }
  }

  #find<Result>(id: string, find: () => Result | undefined): Result {
    const result = withHomeErrors(this.path, `look for session ${id}`, find)
    if (result === undefined) throw sessionNotFound(id)
    return result
  }
}

/** `RESUME_MISMATCH` if another store wrote the manifest. */
export const assertFilesystemManifest = ({ session_id: id, store }: Manifest): void =>
  assertWrittenBy(filesystemId, id, store)

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
export function readActivities(sessions: string): Map<string, number> {
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

/** The sessions in the trash, newest removal first. Each has a manifest: anything else there is none. */
export function listRemovedSessions({ disk, trash }: SessionsHome): RemovedSession[] {
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
export async function restoreRemovedSession(home: SessionsHome, name: string): Promise<string> {
  const { disk, trash, sessions } = home
  const removed = listRemovedSessions(home).find((session) => session.name === name)
  if (removed === undefined)
    throw new StintError('NOT_FOUND', `there is no session ${name} in the trash`, {
      hint: '`stint sessions restore` lists what is there.',
    })
  const [from, to] = [join(trash, name), join(sessions, removed.id)]
  await home.syncName()
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
export async function syncMove(disk: Disk, from: string, to: string): Promise<void> {
  try {
    for (const path of [to, from]) await disk.syncDirectory(dirname(path))
  } catch (error) {
    await disk.rename(to, from)
    throw error
  }
}
