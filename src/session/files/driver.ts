import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { type Clock, systemClock } from '../../base/process/clock.ts'
import { type Disk, listIfExists, nodeDisk } from '../../base/fs/disk.ts'
import { ensureHomeDirectory, stintHome } from '../../base/fs/home.ts'
import { ulid } from '../../base/text/id.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import type {
  HeldSession,
  ReadableSession,
  SessionHold,
  SpoolEntry,
  StoreDriver,
  TransferDriver,
  WriteGuard,
} from '../driver.ts'
import { forkPoint } from '../log/log-end.ts'
import type { Manifest } from '../manifest.ts'
import type { Holder, SessionSummary } from '../store.ts'
import { checkSessionId } from '../session-errors.ts'
import { noGuard } from '../session-secrets.ts'
import { noteDamage } from './damage-marker.ts'
import { withFileErrors } from './session-file-errors.ts'
import {
  assertFilesystemManifest,
  filesystemId,
  findSession,
  locateSession,
  sessionIdsIn,
  readManifestFile,
} from './find-session.ts'
import { attesting, forkFiles } from './fork.ts'
import { forgetHold } from './list-cache.ts'
import { listSessions } from './list-sessions.ts'
import { type OpenContext, openNewSession, openTakenSession, takeSession } from './open-session.ts'
import { sessionPathsIn, type SessionPaths } from './paths.ts'
import { ReadableFiles } from './readable-session.ts'
import { recoverSession, sourcesIn } from './recover.ts'
import { undoTake, SessionLock, type TakenLock } from './session-lock.ts'
import { ensureSessions, sessionsDirectoryIn, syncSessionsName } from './sessions-directory.ts'
import { listSpoolFiles, readSpoolFile, writeSpoolFile } from './spool.ts'
import { formatManifest, publishSession, stageSession } from './staged-session.ts'
import type { SessionFiles } from './session-files.ts'
import { readTransferFromFiles, writeTransferToFiles } from './transfer.ts'

export interface FilesystemOptions {
  /** `$STINT_HOME` by default. */
  home?: string
  clock?: Clock
}

interface Found {
  paths: SessionPaths
  manifest: Manifest
}

/** Sessions in plain files: a directory each, in `sessions` of stint's home. */
export class FilesystemDriver implements StoreDriver {
  readonly id = filesystemId
  readonly #home: string
  readonly #sessions: string
  readonly #clock: Clock
  readonly #disk: Disk
  #ensured = false

  /** Tests pass a disk that fails or counts. */
  constructor({ home = stintHome(), clock = systemClock }: FilesystemOptions = {}, disk: Disk = nodeDisk) {
    this.#home = home
    this.#sessions = sessionsDirectoryIn(home)
    this.#clock = clock
    this.#disk = disk
  }

  async create(manifest: Manifest, hold: SessionHold, guard: WriteGuard): Promise<HeldSession> {
    const paths = this.#pathsOf(manifest.session_id)
    this.#ensureSessions()
    return withFileErrors(`create session ${manifest.session_id}`, undefined, () => {
      const lock = this.#publish(manifest, paths, (staged) => this.#take(staged, manifest, hold).lock)
      try {
        return openNewSession(this.#context(paths, manifest, hold, guard), lock.movedTo(paths.root))
      } catch (error) {
        // Nobody else can have opened it: its lock is ours.
        rmSync(paths.root, { recursive: true, force: true })
        throw error
      }
    })
  }

  async open(id: string, hold: SessionHold, guard: WriteGuard): Promise<HeldSession> {
    const { paths, manifest } = this.#find(id)
    return withFileErrors(`open session ${id}`, paths.root, () =>
      this.#openTaken(id, hold, guard, this.#take(paths, manifest, hold)),
    )
  }

  async read(id: string): Promise<ReadableSession> {
    const { paths, manifest } = this.#find(id)
    return new ReadableFiles(this.#disk, paths, manifest)
  }

  async list(): Promise<SessionSummary[]> {
    return withFileErrors('list the sessions', undefined, () => listSessions(this.#disk, this.#sessions))
  }

  async ids(prefix: string): Promise<string[]> {
    return sessionIdsIn(this.#disk, this.#sessions)
      .filter((id) => id.startsWith(prefix) || id.startsWith(`ses_${prefix}`))
      .sort()
  }

  async fork(from: string, at: number | undefined, manifestAt: (seq: number) => Manifest): Promise<void> {
    const source = this.#find(from)
    withFileErrors(`fork session ${from}`, source.paths.root, () => {
      const recovered = recoverSession(sourcesIn(this.#disk, source.paths, source.manifest))
      const seq = forkPoint(at, recovered.journal.end.seq)
      const manifest = manifestAt(seq)
      this.#publish(manifest, this.#pathsOf(manifest.session_id), (staged): undefined => {
        const audit = forkFiles(this.#disk, { paths: source.paths, recovered }, seq, staged)
        replaceFile(staged.manifest, formatManifest(attesting(manifest, audit)), this.#disk)
        // Had it been removed while it was copied, the copy could lack anything.
        if (this.#find(from).manifest.created_at !== source.manifest.created_at)
          throw new StintError('NOT_FOUND', `session ${from} was removed meanwhile`)
      })
    })
  }

  async spool(id: string, entries: readonly SpoolEntry[]): Promise<void> {
    const { paths } = this.#find(id)
    withFileErrors(`leave entries for session ${id}`, paths.root, () =>
      writeSpoolFile(this.#disk, paths, entries),
    )
  }

  async spooled(id: string): Promise<SpoolEntry[]> {
    const paths = this.#pathsOf(id)
    return withFileErrors('read the spool', paths.root, () =>
      listSpoolFiles(this.#disk, paths).flatMap((name) => readSpoolFile(this.#disk, paths, name) ?? []),
    )
  }

  /** A session that was just removed has no spool: a holder that has just closed it need not hear of that. */
  async hasSpool(id: string): Promise<boolean> {
    const paths = this.#pathsOf(id)
    return withFileErrors(
      'look into the spool',
      paths.root,
      () => listSpoolFiles(this.#disk, paths).length > 0,
    )
  }

  async holder(id: string): Promise<Holder | undefined> {
    const { root } = this.#find(id).paths
    return withFileErrors('read the lock', root, () => SessionLock.look(root)?.holder)
  }

  async unlock(id: string): Promise<Holder | undefined> {
    const { paths, manifest } = this.#find(id)
    if (SessionLock.look(paths.root)?.holder === undefined) return undefined
    const hold: SessionHold = { kind: 'writer', purpose: 'unlock' }
    const { session, before } = withFileErrors(`unlock session ${id}`, paths.root, () => {
      const taken = this.#take(paths, manifest, hold, true)
      return { session: this.#openTaken(id, hold, noGuard, taken), before: taken.before }
    })
    await session.release()
    // The one it was taken from: another may have come since the look.
    return before?.holder
  }

  async remove(id: string): Promise<void> {
    // Also one whose manifest makes no sense: what cannot be read can be thrown away.
    const paths = locateSession(this.#sessions, id)
    const manifest = readManifestFile(this.#disk, paths)
    if (manifest !== undefined) assertFilesystemManifest(manifest)
    const trash = join(this.#home, 'trash')
    ensureHomeDirectory(trash)
    withFileErrors(`remove session ${id}`, paths.root, () => {
      const taken = takeSession(this.#disk, paths, manifest, { id, kind: 'writer', purpose: 'remove' })
      const name = listIfExists(this.#disk, trash).includes(id) ? `${id}-${ulid()}` : id
      try {
        this.#disk.rename(paths.root, join(trash, name))
      } catch (error) {
        undoTake(taken)
        throw error
      }
      this.#disk.syncDirectory(this.#sessions)
      this.#disk.syncDirectory(trash)
      const createdAt = manifest === undefined ? 0 : Date.parse(manifest.created_at)
      forgetHold({ root: paths.root, createdAt, epoch: taken.lock.epoch })
    })
  }

  async noteDamage(id: string, what: string): Promise<void> {
    noteDamage(this.#disk, this.#pathsOf(id), what, this.#clock.now())
  }

  get transfer(): TransferDriver {
    return {
      read: async (id) => readTransferFromFiles(this.#disk, this.#sessions, id),
      write: (transfer, id) =>
        writeTransferToFiles(transfer, { disk: this.#disk, home: this.#home, id, now: this.#clock.now() }),
    }
  }

  /** Loads archives, repairs and measuring only for the commands that use them. */
  async files(): Promise<SessionFiles> {
    const { sessionFilesIn } = await import('./session-files.ts')
    return sessionFilesIn(this.#home, this.#disk, this.#clock)
  }

  #openTaken(id: string, hold: SessionHold, guard: WriteGuard, taken: TakenLock): HeldSession {
    try {
      // Read again: until the lock was ours, another writer could revise it.
      const { paths, manifest } = this.#find(id)
      return openTakenSession(this.#context(paths, manifest, hold, guard), taken)
    } catch (error) {
      undoTake(taken)
      throw error
    }
  }

  /** A new session comes into being whole, or not at all. */
  #publish<Lock extends SessionLock | undefined>(
    manifest: Manifest,
    paths: SessionPaths,
    fill: (staged: SessionPaths) => Lock,
  ): Lock {
    const staged = stageSession(this.#disk, this.#sessions, manifest)
    try {
      const lock = fill(staged)
      publishSession(this.#disk, staged, paths, manifest, lock?.epoch)
      return lock
    } catch (error) {
      rmSync(staged.root, { recursive: true, force: true })
      throw error
    }
  }

  #context(paths: SessionPaths, manifest: Manifest, hold: SessionHold, guard: WriteGuard): OpenContext {
    return { disk: this.#disk, clock: this.#clock, paths, manifest, hold, guard }
  }

  #take(paths: SessionPaths, manifest: Manifest, { kind, purpose }: SessionHold, force = false): TakenLock {
    return takeSession(this.#disk, paths, manifest, { id: manifest.session_id, kind, purpose, force })
  }

  #find(id: string): Found {
    return findSession(this.#disk, this.#sessions, id)
  }

  #pathsOf(id: string): SessionPaths {
    checkSessionId(id)
    return sessionPathsIn(join(this.#sessions, id))
  }

  #ensureSessions(): void {
    ensureSessions(this.#home)
    if (!this.#ensured) syncSessionsName(this.#disk, this.#home)
    this.#ensured = true
  }
}
