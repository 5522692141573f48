import { join } from 'node:path'
import type { Clock } from '../../src/base/process/clock.ts'
import type { Disk } from '../../src/base/fs/disk.ts'
import { codedError, StintError } from '../../src/base/errors/stint-error.ts'
import type {
  HeldSession,
  ReadableSession,
  SessionHold,
  StoreDriver,
  WriteGuard,
} from '../../src/session/driver.ts'
import { forkFiles } from '../../src/session/files/fork.ts'
import {
  defaultLimits,
  type FilesystemSession,
  type OpenContext,
  type SessionLimits,
} from '../../src/session/files/held-session.ts'
import { openAcquiredSession, openNewSession } from '../../src/session/files/open-session.ts'
import { ReadableFiles } from '../../src/session/files/readable-session.ts'
import { recoverSession } from '../../src/session/files/recover.ts'
import { SessionDirectory, type SessionPaths } from '../../src/session/files/session-directory.ts'
import type { AcquiredLock } from '../../src/session/files/session-lock.ts'
import { StagedSession } from '../../src/session/files/staged-session.ts'
import { forkPoint } from '../../src/session/log/log-end.ts'
import type { Manifest } from '../../src/session/manifest.ts'
import type { Holder, SessionSummary } from '../../src/session/store.ts'
import { noGuard } from '../../src/session/session-secrets.ts'
import { CrashDisk } from './crash-disk.ts'
import type { SimulatedLocks } from './crash-locks.ts'

export const sessions = '/sessions'

/** A disk with an empty directory for sessions. */
export function emptyDisk(): CrashDisk {
  const disk = new CrashDisk()
  disk.makeDirectory(sessions)
  disk.syncDirectory('/')
  return disk
}

let ticks = 0
const clock: Clock = { now: () => 1_700_000_000_000 + ticks++, mono: () => ticks }

export const directoryOf = (disk: Disk, id: string): SessionDirectory =>
  new SessionDirectory(disk, join(sessions, id))

export const pathsOf = (id: string): SessionPaths => directoryOf(new CrashDisk(), id).paths

/** A summary would read sizes and locks past the simulated disk. */
class SimulatedReading extends ReadableFiles {
  override get summary(): SessionSummary {
    throw new Error('not simulated')
  }
}

/**
 * The driver for plain files on a simulated disk. Locks are simulated, too, because they do not use the disk.
 */
export class SimulatedDriver implements StoreDriver {
  readonly id = 'filesystem'
  readonly #disk: Disk
  readonly #locks: SimulatedLocks
  readonly #limits: SessionLimits

  constructor(disk: Disk, locks: SimulatedLocks, limits: Partial<SessionLimits>) {
    this.#disk = disk
    this.#locks = locks
    this.#limits = { ...defaultLimits, ...limits }
  }

  async create(manifest: Manifest, hold: SessionHold, guard: WriteGuard): Promise<HeldSession> {
    return await coded(async () => {
      using staged = await StagedSession.make({ disk: this.#disk, sessions })
      const { lock } = this.#locks.acquire(manifest.session_id, hold.kind, 0)
      await staged.writeNewSession(manifest)
      const directory = await staged.publish(manifest)
      return await openNewSession(this.#context(directory, manifest, hold, guard), lock)
    })
  }

  async open(id: string, hold: SessionHold, guard: WriteGuard): Promise<HeldSession> {
    return await coded(() => this.openAcquired(id, hold, guard))
  }

  async openAcquired(
    id: string,
    hold: SessionHold,
    guard = noGuard,
    acquired: AcquiredLock = this.acquire(id, hold),
  ): Promise<FilesystemSession> {
    const context = this.#context(this.#directoryOf(id), this.manifestOf(id), hold, guard)
    return await openAcquiredSession(context, acquired)
  }

  acquire(id: string, { kind }: SessionHold): AcquiredLock {
    return this.#locks.acquire(id, kind, this.#directoryOf(id).highestHoldEpoch())
  }

  manifestOf(id: string): Manifest {
    const manifest = this.#directoryOf(id).readManifest()
    if (manifest === undefined) throw new StintError('NOT_FOUND', `there is no session ${id}`)
    return manifest
  }

  async read(id: string): Promise<ReadableSession> {
    return new SimulatedReading({ directory: this.#directoryOf(id), manifest: this.manifestOf(id) })
  }

  async list(): Promise<SessionSummary[]> {
    return []
  }

  async fork(from: string, at: number | undefined, manifestAt: (seq: number) => Manifest): Promise<void> {
    await coded(async () => {
      const source = this.#directoryOf(from)
      const recovered = await recoverSession(source, this.manifestOf(from))
      const seq = forkPoint(at, recovered.journal.end.seq)
      const manifest = manifestAt(seq)
      using staged = await StagedSession.make({ disk: this.#disk, sessions })
      await forkFiles(source, recovered, seq, staged.directory, manifest)
      await staged.publish(manifest)
    })
  }

  async holder(id: string): Promise<Holder | undefined> {
    return this.#locks.look(id)?.holder
  }

  async unlock(): Promise<undefined> {
    throw new Error('not simulated')
  }

  async remove(): Promise<void> {
    throw new Error('not simulated')
  }

  #directoryOf(id: string): SessionDirectory {
    return directoryOf(this.#disk, id)
  }

  #context(
    directory: SessionDirectory,
    manifest: Manifest,
    hold: SessionHold,
    guard: WriteGuard,
  ): OpenContext {
    return { directory, manifest, hold, guard, clock, limits: this.#limits }
  }
}

async function coded<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw codedError(error, 'use the simulated disk')
  }
}
