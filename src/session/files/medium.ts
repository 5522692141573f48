import { lstatSync, unlinkSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { adaptiveDiskAt } from '../../base/fs/adaptive-disk.ts'
import { type Disk, listIfExists, readFile } from '../../base/fs/disk.ts'
import {
  assertHomeFormat,
  assertOwnHomeDirectory,
  ensureHome,
  ensureHomeDirectory,
  stintHome,
  withHomeErrors,
} from '../../base/fs/home.ts'
import { appendPrivateFile } from '../../base/fs/private-file.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import { type Clock, recordClock, systemClock } from '../../base/process/clock.ts'
import { type BuiltInMedium, createStore, type RemovedSession, type SessionFiles } from '../create-store.ts'
import { type Manifest, newManifest, parseManifest } from '../manifest.ts'
import type { HeldMedium, ReadableMedium, SessionContents, SessionHold } from '../medium.ts'
import type { DamagedSession } from '../repair.ts'
import { checkSessionId, sessionNotFound } from '../session-errors.ts'
import type { ListOptions, RemoveOptions, SessionStore, SessionSummary } from '../store.ts'
import { defaultSizes } from './file-log.ts'
import { HeldFiles } from './held-files.ts'
import { listSessions, sessionIdsIn } from './list-sessions.ts'
import { observeLock } from './lock-record.ts'
import { ReadableFiles } from './readable-files.ts'
import {
  assertFilesystemManifest,
  filesystemId,
  type FoundSession,
  SessionDirectory,
  sessionsDirectoryIn,
  withFileErrors,
} from './session-directory.ts'
import { acquireLock, type AcquiredLock, createLock, undoAcquire } from './session-lock.ts'
import { StagedSession } from './staged-session.ts'
import { listRemovedSessions, moveSessionToTrash, restoreRemovedSession } from './trash.ts'

export interface FilesystemOptions {
  /** `$STINT_HOME` by default. */
  home?: string
  clock?: Clock
}

/**
 * Sessions in plain files, in stint's home.
 *
 * @example
 * const store = filesystemStore()
 * const sessions = await store.list()
 */
export const filesystemStore = (options: FilesystemOptions = {}): SessionStore =>
  createStore(new FilesMedium(options), options.clock)

/** Keeps each session in a directory, in `sessions` of stint's home. */
export class FilesMedium implements BuiltInMedium {
  readonly id = filesystemId
  readonly #home: SessionsHome

  /** Tests pass a disk that fails or counts. */
  constructor({ home = stintHome(), clock = systemClock }: FilesystemOptions = {}, disk?: Disk) {
    assertHomeFormat(home)
    this.#home = new SessionsHome(home, disk, recordClock(clock))
  }

  async create(manifest: Manifest, hold: SessionHold): Promise<HeldMedium> {
    const id = manifest.session_id
    checkSessionId(id)
    return await withFileErrors(`create session ${id}`, undefined, async () => {
      this.#home.ensure()
      await this.#home.syncName()
      using staged = await StagedSession.make(this.#home.disk, this.#home.sessions)
      const { root } = this.#home.directoryOf(id).paths
      const lock = await createLock(staged.directory.paths.root, root, id, hold, this.#home.clock.now())
      await staged.writeNewSession(manifest)
      const directory = await staged.publish(manifest)
      lock.note(undefined)
      const acquired: AcquiredLock = { lock, standing: 'never', before: undefined }
      return this.#held({ directory, manifest }, hold, acquired, true)
    })
  }

  async open(id: string, hold: SessionHold): Promise<HeldMedium> {
    const { directory } = this.#home.find(id)
    return await withFileErrors(`open session ${id}`, directory.paths.root, async () => {
      const highestHoldEpoch = (): number => directory.highestHoldEpoch()
      const request = { ...hold, now: this.#home.clock.now(), highestHoldEpoch }
      const acquired = await acquireLock(directory.paths.root, id, request)
      try {
        // Find it again: until the lock was acquired, another writer could replace the manifest.
        return this.#held(this.#home.find(id), hold, acquired, false)
      } catch (error) {
        await undoAcquire(acquired)
        throw error
      }
    })
  }

  #held(session: FoundSession, hold: SessionHold, acquired: AcquiredLock, isNew: boolean): HeldFiles {
    return new HeldFiles({ ...session, hold, acquired, isNew, clock: this.#home.clock, sizes: defaultSizes })
  }

  async read(id: string): Promise<ReadableMedium> {
    await giveWay()
    const { root } = this.#home.locate(id).paths
    const lock = await withFileErrors(`read session ${id}`, root, () => observeLock(root))
    return new ReadableFiles(this.#home.find(id), lock)
  }

  async load(manifest: Manifest, contents: SessionContents): Promise<void> {
    checkSessionId(manifest.session_id)
    await withFileErrors(`create session ${manifest.session_id}`, undefined, async () => {
      this.#home.ensure()
      await this.#home.syncName()
      using staged = await StagedSession.make(this.#home.disk, this.#home.sessions)
      await staged.load(manifest, contents)
      await staged.publish(manifest)
    })
  }

  async list(options: ListOptions): Promise<SessionSummary[]> {
    await giveWay()
    return await listSessions(this.#home.disk, this.#home.sessions, options)
  }

  async remove(id: string, { purge = false }: RemoveOptions): Promise<void> {
    const directory = this.#home.locate(id)
    const { root } = directory.paths
    const trashed = await withFileErrors(`remove session ${id}`, root, () =>
      moveSessionToTrash(directory, this.#home.trash),
    )
    // In the thread pool: a session may have gigabytes. `force`, because a sweep may delete it meanwhile.
    const doing = `delete session ${id}, which is in the trash`
    if (purge) await withFileErrors(doing, root, () => rm(trashed, { recursive: true, force: true }))
  }

  async noteDamage(id: string, what: string | undefined): Promise<void> {
    const directory = this.#home.directoryOf(id)
    if (what === undefined) await directory.forgetDamage()
    else await directory.noteDamage(what, this.#home.clock.now())
  }

  async want(id: string): Promise<void> {
    appendPrivateFile(this.#home.locate(id).paths.wanted, '')
  }

  /** Removes the files: a process that still waits makes its file again. */
  async wanted(ids: readonly string[]): Promise<string[]> {
    const remove = (id: string): true => {
      unlinkSync(this.#home.directoryOf(id).paths.wanted)
      return true
    }
    return ids.filter((id) => ifPossible(() => remove(id)))
  }

  async ids(prefix: string): Promise<string[]> {
    const ids = sessionIdsIn(this.#home.disk, this.#home.sessions)
    return ids.filter((id) => id.startsWith(prefix) || id.startsWith(`ses_${prefix}`)).sort()
  }

  async removed(): Promise<RemovedSession[]> {
    return withHomeErrors(this.#home.path, 'list the trash', () =>
      listRemovedSessions(this.#home.disk, this.#home.trash),
    )
  }

  async restore(name: string): Promise<string> {
    this.#home.ensure()
    return await withFileErrors(`restore ${name}`, undefined, async () => {
      await this.#home.syncName()
      return await restoreRemovedSession(this.#home, name)
    })
  }

  get files(): SessionFiles {
    const home = this.#home
    return {
      trash: home.trash,
      path: (id) => join(home.sessions, id),
      quarantined(id) {
        const { root, quarantine } = home.directoryOf(id).paths
        return withHomeErrors(home.path, `look into ${root}`, () =>
          listIfExists(home.disk, quarantine).map((name) => join(quarantine, name)),
        )
      },
      readDamaged: (id) => readDamaged(home, id),
    }
  }
}

/** The sessions of one home. */
class SessionsHome {
  readonly path: string
  readonly sessions: string
  readonly trash: string
  readonly clock: Clock
  readonly #disk: Disk | undefined
  #isNameSynced = false

  constructor(path: string, disk: Disk | undefined, clock: Clock) {
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

/** Opens a session whose manifest may be missing or invalid. */
async function readDamaged(home: SessionsHome, id: string): Promise<DamagedSession> {
  const directory = home.locate(id)
  const { root } = directory.paths
  const lock = await withFileErrors(`read session ${id}`, root, () => observeLock(root))
  const stored = withFileErrors(`read session ${id}`, root, () => directory.readManifest())
  if (stored !== undefined) assertFilesystemManifest(stored)
  const manifest = { ...(stored ?? newManifest(id, filesystemId, home.clock.now())), session_id: id }
  // A manifest of another session keeps this one from being opened.
  const isManifestDamaged = stored?.session_id !== id
  return { medium: new ReadableFiles({ directory, manifest }, lock), isManifestDamaged }
}
