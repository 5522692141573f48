import { join } from 'node:path'
import type { Clock } from '../../src/base/process/clock.ts'
import type { Disk } from '../../src/base/fs/disk.ts'
import { codedError, StintError } from '../../src/base/errors/stint-error.ts'
import { defaultSizes, type SegmentSizes } from '../../src/session/files/file-log.ts'
import { HeldFiles } from '../../src/session/files/held-files.ts'
import { ReadableFiles } from '../../src/session/files/readable-files.ts'
import { SessionDirectory, type SessionPaths } from '../../src/session/files/session-directory.ts'
import type { AcquiredLock } from '../../src/session/files/session-lock.ts'
import { StagedSession } from '../../src/session/files/staged-session.ts'
import type { Manifest } from '../../src/session/manifest.ts'
import type {
  HeldMedium,
  Medium,
  ReadableMedium,
  SessionContents,
  SessionHold,
} from '../../src/session/medium.ts'
import {
  defaultLimits,
  type LogLimits,
  openSessionLog,
  type SessionLog,
} from '../../src/session/session-log.ts'
import { RegisteredSecrets } from '../../src/session/entries.ts'
import type { SessionSummary } from '../../src/session/store.ts'
import { CrashDisk } from './crash-disk.ts'
import type { SimulatedLocks } from './crash-locks.ts'

export const sessions = '/sessions'

/** The sizes of segments, and when records go to blobs. */
export type SessionLimits = SegmentSizes & LogLimits

/** A disk with an empty directory for sessions. */
export function emptyDisk(): CrashDisk {
  const disk = new CrashDisk()
  disk.makeDirectory(sessions)
  disk.syncDirectory('/')
  return disk
}

let ticks = 0
export const clock: Clock = { now: () => 1_700_000_000_000 + ticks++, mono: () => ticks }

export const directoryOf = (disk: Disk, id: string): SessionDirectory =>
  new SessionDirectory(disk, join(sessions, id))

export const pathsOf = (id: string): SessionPaths => directoryOf(new CrashDisk(), id).paths

/** A session on a simulated disk, opened for reading. */
export const readingOf = (disk: Disk, id: string, manifest: Manifest): ReadableMedium =>
  new SimulatedReading(
    { directory: directoryOf(disk, id), manifest },
    { standing: 'never', record: undefined },
  )

/** A summary would read sizes and locks past the simulated disk. */
class SimulatedReading extends ReadableFiles {
  override get summary(): SessionSummary {
    throw new Error('not simulated')
  }
}

/**
 * The medium of plain files on a simulated disk. Locks are simulated, too, because they do not use the disk.
 */
export class SimulatedMedium implements Medium {
  readonly id = 'filesystem'
  readonly limits: LogLimits
  readonly #disk: Disk
  readonly #locks: SimulatedLocks
  readonly #sizes: SegmentSizes

  constructor(disk: Disk, locks: SimulatedLocks, limits: Partial<SessionLimits>) {
    this.#disk = disk
    this.#locks = locks
    this.#sizes = { ...defaultSizes, ...limits }
    this.limits = { ...defaultLimits, ...limits }
  }

  async create(manifest: Manifest, hold: SessionHold): Promise<HeldMedium> {
    return await coded(async () => {
      using staged = await StagedSession.make(this.#disk, sessions)
      const acquired = this.#locks.acquire(manifest.session_id, hold.kind, 0)
      await staged.writeNewSession(manifest)
      const directory = await staged.publish(manifest)
      return new HeldFiles({ directory, manifest, acquired, hold, clock, sizes: this.#sizes, isNew: true })
    })
  }

  async open(id: string, hold: SessionHold, acquired = this.acquire(id, hold)): Promise<HeldMedium> {
    const directory = this.#directoryOf(id)
    const manifest = this.manifestOf(id)
    return new HeldFiles({ directory, manifest, acquired, hold, clock, sizes: this.#sizes, isNew: false })
  }

  /** Opens a session whose lock was acquired. */
  async openLog(id: string, hold: SessionHold, acquired?: AcquiredLock): Promise<SessionLog> {
    const medium = { open: () => this.open(id, hold, acquired), noteDamage: async () => {} }
    return await openSessionLog(medium, id, hold, {
      clock,
      secrets: new RegisteredSecrets(),
      limits: this.limits,
    })
  }

  acquire(id: string, { kind }: SessionHold): AcquiredLock {
    return this.#locks.acquire(id, kind, this.#directoryOf(id).highestHoldEpoch())
  }

  manifestOf(id: string): Manifest {
    const manifest = this.#directoryOf(id).readManifest()
    if (manifest === undefined) throw new StintError('NOT_FOUND', `there is no session ${id}`)
    return manifest
  }

  async read(id: string): Promise<ReadableMedium> {
    return readingOf(this.#disk, id, this.manifestOf(id))
  }

  async list(): Promise<SessionSummary[]> {
    return []
  }

  async load(manifest: Manifest, contents: SessionContents): Promise<void> {
    await coded(async () => {
      using staged = await StagedSession.make(this.#disk, sessions)
      await staged.load(manifest, contents)
      await staged.publish(manifest)
    })
  }

  async noteDamage(): Promise<void> {}

  async want(): Promise<void> {}

  async wanted(): Promise<string[]> {
    return []
  }

  async remove(): Promise<void> {
    throw new Error('not simulated')
  }

  #directoryOf(id: string): SessionDirectory {
    return directoryOf(this.#disk, id)
  }
}

async function coded<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw codedError(error, 'use the simulated disk')
  }
}
