import { join } from 'node:path'
import { replaceFile } from '../../src/base/fs/atomic-file.ts'
import type { Clock } from '../../src/base/process/clock.ts'
import { type Disk, readFile } from '../../src/base/fs/disk.ts'
import { codedError, StintError } from '../../src/base/errors/stint-error.ts'
import type {
  HeldSession,
  ReadableSession,
  SessionHold,
  SpoolEntry,
  StoreDriver,
  WriteGuard,
} from '../../src/session/driver.ts'
import { attesting, forkFiles } from '../../src/session/files/fork.ts'
import type { FilesystemSession, SessionLimits } from '../../src/session/files/held-session.ts'
import { forkPoint } from '../../src/session/log/log-end.ts'
import { highestEpoch, logsOf } from '../../src/session/files/logs.ts'
import {
  type OpenContext,
  openNewSession,
  openTakenSession,
  type TakenHold,
} from '../../src/session/files/open-session.ts'
import { sessionPathsIn, type SessionPaths } from '../../src/session/files/paths.ts'
import { ReadableFiles } from '../../src/session/files/readable-session.ts'
import { recoverSession, sourcesIn } from '../../src/session/files/recover.ts'
import { listSpoolFiles, readSpoolFile, writeSpoolFile } from '../../src/session/files/spool.ts'
import { formatManifest, publishSession, stageSession } from '../../src/session/files/staged-session.ts'
import { type Manifest, parseManifest } from '../../src/session/manifest.ts'
import type { Holder, SessionSummary } from '../../src/session/store.ts'
import { noGuard } from '../../src/session/session-secrets.ts'
import { CrashDisk } from './crash-disk.ts'
import type { SimulatedLocks } from './crash-locks.ts'

export const sessions = '/sessions'

/** A disk with nothing on it but the directory of the sessions. */
export function emptyDisk(): CrashDisk {
  const disk = new CrashDisk()
  disk.makeDirectory(sessions)
  disk.syncDirectory('/')
  return disk
}

let ticks = 0
const clock: Clock = { now: () => 1_700_000_000_000 + ticks++, mono: () => ticks }

export const pathsOf = (id: string): SessionPaths => sessionPathsIn(join(sessions, id))

/** Its summary would look past the simulated disk, at sizes and locks. */
class SimulatedReading extends ReadableFiles {
  override get summary(): SessionSummary {
    throw new Error('not simulated')
  }
}

/** The sessions of a simulated disk: the filesystem store's own code, but for its lock, and for what it asks the kernel past its disk. */
export class SimulatedDriver implements StoreDriver {
  readonly id = 'filesystem'
  readonly #disk: Disk
  readonly #locks: SimulatedLocks
  readonly #sizes: Partial<SessionLimits>

  constructor(disk: Disk, locks: SimulatedLocks, sizes: Partial<SessionLimits>) {
    this.#disk = disk
    this.#locks = locks
    this.#sizes = sizes
  }

  async create(manifest: Manifest, hold: SessionHold, guard: WriteGuard): Promise<HeldSession> {
    return coded(() => {
      const paths = pathsOf(manifest.session_id)
      const staged = stageSession(this.#disk, sessions, manifest)
      const { lock } = this.#locks.take(manifest.session_id, hold.kind, 0)
      publishSession(this.#disk, staged, paths, manifest)
      return openNewSession(this.#context(paths, manifest, hold, guard), lock)
    })
  }

  async open(id: string, hold: SessionHold, guard: WriteGuard): Promise<HeldSession> {
    return coded(() => this.openNow(id, hold, guard))
  }

  openNow(
    id: string,
    hold: SessionHold,
    guard = noGuard,
    taken: TakenHold = this.take(id, hold),
  ): FilesystemSession {
    return openTakenSession(this.#context(pathsOf(id), this.manifestOf(id), hold, guard), taken)
  }

  take(id: string, { kind }: SessionHold): TakenHold {
    return this.#locks.take(id, kind, highestEpoch(logsOf(this.#disk, pathsOf(id))))
  }

  manifestOf(id: string): Manifest {
    const text = readFile(this.#disk, pathsOf(id).manifest)?.toString()
    const manifest = text === undefined ? undefined : parseManifest(text)
    if (manifest === undefined) throw new StintError('NOT_FOUND', `there is no session ${id}`)
    return manifest
  }

  async read(id: string): Promise<ReadableSession> {
    return new SimulatedReading(this.#disk, pathsOf(id), this.manifestOf(id))
  }

  async list(): Promise<SessionSummary[]> {
    return []
  }

  async fork(from: string, at: number | undefined, manifestAt: (seq: number) => Manifest): Promise<void> {
    coded(() => {
      const paths = pathsOf(from)
      const recovered = recoverSession(sourcesIn(this.#disk, paths, this.manifestOf(from)))
      const seq = forkPoint(at, recovered.journal.end.seq)
      const manifest = manifestAt(seq)
      const staged = stageSession(this.#disk, sessions, manifest)
      const audit = forkFiles(this.#disk, { paths, recovered }, seq, staged)
      replaceFile(staged.manifest, formatManifest(attesting(manifest, audit)), this.#disk)
      publishSession(this.#disk, staged, pathsOf(manifest.session_id), manifest)
    })
  }

  async spool(id: string, entries: readonly SpoolEntry[]): Promise<void> {
    coded(() => writeSpoolFile(this.#disk, pathsOf(id), entries))
  }

  async spooled(id: string): Promise<SpoolEntry[]> {
    const paths = pathsOf(id)
    return listSpoolFiles(this.#disk, paths).flatMap((name) => readSpoolFile(this.#disk, paths, name) ?? [])
  }

  async hasSpool(id: string): Promise<boolean> {
    return listSpoolFiles(this.#disk, pathsOf(id)).length > 0
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

  #context(paths: SessionPaths, manifest: Manifest, hold: SessionHold, guard: WriteGuard): OpenContext {
    return { disk: this.#disk, clock, paths, manifest, hold, guard, limits: this.#sizes }
  }
}

function coded<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw codedError(error, 'use the simulated disk')
  }
}
