import { rmSync, unlinkSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { errorCode, StintError } from '../../base/errors/stint-error.ts'
import { type Disk, listIfExists } from '../../base/fs/disk.ts'
import { assertHomeFormat, ensureHomeDirectory, stintHome, withHomeErrors } from '../../base/fs/home.ts'
import { appendPrivateFile } from '../../base/fs/private-file.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import { type Clock, recordClock, systemClock } from '../../base/process/clock.ts'
import { ulid } from '../../base/text/id.ts'
import { createStore } from '../create-store.ts'
import type {
  HeldSession,
  ReadableSession,
  RemovedSession,
  SessionFiles,
  SessionHold,
  StoreDriver,
  TransferDriver,
  WriteGuard,
} from '../driver.ts'
import { forkPoint } from '../log/log-end.ts'
import type { Manifest } from '../manifest.ts'
import { checkSessionId } from '../session-errors.ts'
import { noGuard } from '../session-secrets.ts'
import type { Holder, ListOptions, RemoveOptions, SessionStore, SessionSummary } from '../store.ts'
import { type MeasuredSessions, measureHome } from './disk-use.ts'
import { forkFiles } from './fork.ts'
import { defaultLimits, type OpenContext } from './held-session.ts'
import { listSessions } from './list-sessions.ts'
import { openNewSession, openAcquiredSession, acquireSession } from './open-session.ts'
import { forgetActivity } from './recent-sessions.ts'
import { ReadableFiles } from './readable-session.ts'
import { recoverSession } from './recover.ts'
import { listRemovedSessions, restoreRemovedSession, syncMove } from './removed-sessions.ts'
import {
  assertFilesystemManifest,
  filesystemId,
  type FoundSession,
  sessionIdsIn,
  SessionsHome,
} from './session-directory.ts'
import { withFileErrors } from './session-file-errors.ts'
import { type AcquiredLock, createLock, observeLock, undoAcquire } from './session-lock.ts'
import { StagedSession } from './staged-session.ts'
import { readTransferFromFiles, writeTransferToFiles } from './transfer.ts'

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
  createStore(new FilesystemDriver(options), options.clock)

/** Keeps each session in a directory, in `sessions` of stint's home. */
export class FilesystemDriver implements StoreDriver {
  readonly id = filesystemId
  readonly #home: SessionsHome

  /** Tests pass a disk that fails or counts. */
  constructor({ home = stintHome(), clock = systemClock }: FilesystemOptions = {}, disk?: Disk) {
    assertHomeFormat(home)
    this.#home = new SessionsHome(home, disk, recordClock(clock))
  }

  async create(manifest: Manifest, hold: SessionHold, guard: WriteGuard): Promise<HeldSession> {
    const id = manifest.session_id
    checkSessionId(id)
    return await withFileErrors(`create session ${id}`, undefined, () => this.#create(manifest, hold, guard))
  }

  async #create(manifest: Manifest, hold: SessionHold, guard: WriteGuard): Promise<HeldSession> {
    this.#home.ensure()
    await this.#home.syncName()
    using staged = await StagedSession.make(this.#home)
    const lock = createLock(staged.directory.paths.root, manifest.session_id, hold, this.#home.clock.now())
    await staged.writeNewSession(manifest)
    const directory = await staged.publish(manifest)
    const { root } = directory.paths
    try {
      const context = this.#context({ directory, manifest }, hold, guard)
      const moved = lock.movedTo(root)
      moved.note(undefined)
      return await openNewSession(context, moved)
    } catch (error) {
      // If this process was suspended, a user may have unlocked the session for another process: it stays.
      if (errorCode(error) !== 'FENCED') rmSync(root, { recursive: true, force: true })
      throw error
    }
  }

  async open(id: string, hold: SessionHold, guard: WriteGuard): Promise<HeldSession> {
    const { directory } = this.#home.find(id)
    return await withFileErrors(`open session ${id}`, directory.paths.root, () =>
      this.#openAcquired(id, hold, guard, acquireSession(directory, id, hold, this.#home.clock.now())),
    )
  }

  async read(id: string): Promise<ReadableSession> {
    await giveWay()
    return new ReadableFiles(this.#home.find(id))
  }

  async list(options: ListOptions): Promise<SessionSummary[]> {
    await giveWay()
    return await listSessions(this.#home.disk, this.#home.sessions, options)
  }

  async ids(): Promise<string[]> {
    return sessionIdsIn(this.#home.disk, this.#home.sessions)
  }

  async fork(from: string, at: number | undefined, manifestAt: (seq: number) => Manifest): Promise<void> {
    const source = this.#home.find(from)
    await withFileErrors(`fork session ${from}`, source.directory.paths.root, () =>
      this.#fork(source, at, manifestAt),
    )
  }

  async #fork(
    { directory, manifest: { session_id: from, created_at }, manifest }: FoundSession,
    at: number | undefined,
    manifestAt: (seq: number) => Manifest,
  ): Promise<void> {
    const recovered = await recoverSession(directory, manifest)
    const seq = forkPoint(at, recovered.journal.end.seq)
    const forked = manifestAt(seq)
    checkSessionId(forked.session_id)
    using staged = await StagedSession.make(this.#home)
    await forkFiles(directory, recovered, seq, staged.directory, forked)
    // If the session was removed while it was copied, the copy may lack any of its files.
    if (this.#home.find(from).manifest.created_at !== created_at)
      throw new StintError('NOT_FOUND', `session ${from} was removed meanwhile`)
    await staged.publish(forked)
  }

  async holder(id: string): Promise<Holder | undefined> {
    const { root } = this.#home.find(id).directory.paths
    return withFileErrors('read the lock', root, () => observeLock(root).record?.holder)
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

  async unlock(id: string): Promise<Holder | undefined> {
    const { directory } = this.#home.find(id)
    const { root } = directory.paths
    const hold: SessionHold = { kind: 'writer', purpose: 'unlock' }
    return await withFileErrors(`unlock session ${id}`, root, async () => {
      if (observeLock(root).record?.holder === undefined) return undefined
      const acquired = acquireSession(directory, id, { ...hold, force: true }, this.#home.clock.now())
      const session = await this.#openAcquired(id, hold, noGuard, acquired)
      await session.release()
      // The holder that has lost the lock: it may have changed hands since the first look.
      return acquired.before?.holder
    })
  }

  async remove(id: string, { purge = false }: RemoveOptions = {}): Promise<void> {
    const { root } = this.#home.locate(id).paths
    const trashed = await this.#removeToTrash(id)
    // In the thread pool: a session may have gigabytes. `force`, because a sweep may delete it meanwhile.
    const doing = `delete session ${id}, which is in the trash`
    if (purge) await withFileErrors(doing, root, () => rm(trashed, { recursive: true, force: true }))
  }

  /** Returns where it is now. */
  async #removeToTrash(id: string): Promise<string> {
    // A session whose manifest is invalid can be removed, too.
    const directory = this.#home.locate(id)
    const { root } = directory.paths
    const { disk, trash } = this.#home
    return await withFileErrors(`remove session ${id}`, root, async () => {
      const manifest = directory.readManifest()
      if (manifest !== undefined) assertFilesystemManifest(manifest)
      ensureHomeDirectory(trash)
      const now = this.#home.clock.now()
      const acquired = acquireSession(directory, id, { kind: 'writer', purpose: 'remove' }, now)
      let trashed: string
      try {
        trashed = join(trash, listIfExists(disk, trash).includes(id) ? `${id}-${ulid()}` : id)
        await this.#moveToTrash(root, trashed)
      } catch (error) {
        undoAcquire(acquired)
        throw error
      }
      // A session that comes back is as it was: this process does not hold it.
      undoAcquire({ ...acquired, lock: acquired.lock.movedTo(trashed) })
      forgetActivity(root, { at: now, isHeld: true })
      return trashed
    })
  }

  async removed(): Promise<RemovedSession[]> {
    return withHomeErrors(this.#home.path, 'list the trash', () => listRemovedSessions(this.#home))
  }

  async restore(name: string): Promise<string> {
    this.#home.ensure()
    const id = await withFileErrors(`restore ${name}`, undefined, () =>
      restoreRemovedSession(this.#home, name),
    )
    // If its disk was full, the process that removed the session still seems to hold it.
    // A damaged session keeps that holder.
    await this.unlock(id).catch(() => {})
    return id
  }

  async #moveToTrash(root: string, trashed: string): Promise<void> {
    const { disk } = this.#home
    await disk.rename(root, trashed)
    await syncMove(disk, root, trashed)
  }

  async diskUse(): Promise<MeasuredSessions> {
    return await measureHome(this.#home)
  }

  async noteDamage(id: string, what: string): Promise<void> {
    const directory = this.#home.directoryOf(id)
    await directory.noteDamage(what, this.#home.clock.now())
  }

  get transfer(): TransferDriver {
    return {
      read: async (id) =>
        await withFileErrors(`read session ${id}`, undefined, () => readTransferFromFiles(this.#home, id)),
      write: (transfer, id) =>
        withFileErrors('copy the session', undefined, () => writeTransferToFiles(this.#home, transfer, id)),
    }
  }

  async files(): Promise<SessionFiles> {
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
      // Only the command that uses it loads the code of a repair.
      repair: async (id, isDryRun) => await (await import('./repair.ts')).repairSession(home, id, isDryRun),
    }
  }

  async #openAcquired(
    id: string,
    hold: SessionHold,
    guard: WriteGuard,
    acquired: AcquiredLock,
  ): Promise<HeldSession> {
    try {
      // Find it again: until the lock was acquired, another writer could replace the manifest.
      const context = this.#context(this.#home.find(id), hold, guard)
      return await openAcquiredSession(context, acquired)
    } catch (error) {
      undoAcquire(acquired)
      throw error
    }
  }

  #context(found: FoundSession, hold: SessionHold, guard: WriteGuard): OpenContext {
    return { ...found, hold, guard, clock: this.#home.clock, limits: defaultLimits }
  }
}
