import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { adaptiveDiskAt } from '../../base/fs/adaptive-disk.ts'
import { replaceOnDisk } from '../../base/fs/atomic-file.ts'
import { type Disk, listIfExists, readFile } from '../../base/fs/disk.ts'
import {
  assertOwnHomeDirectory,
  ensureHome,
  ensureHomeDirectory,
  withHomeErrors,
} from '../../base/fs/home.ts'
import { type Clock, systemClock } from '../../base/process/clock.ts'
import { isSessionId } from '../../base/text/id.ts'
import type { LogName } from '../log/codec.ts'
import { type Manifest, parseManifest } from '../manifest.ts'
import { assertWrittenBy, checkSessionId, sessionNotFound } from '../session-errors.ts'
import { BlobFiles } from './blob-files.ts'
import { type LogFiles, parseSegmentName } from './log-files.ts'
import { StateFiles } from './state-files.ts'

/** The id of this store, which each of its manifests names. */
export const filesystemId = 'filesystem'

/** The paths of a session. */
export type SessionPaths = ReturnType<typeof pathsIn>

const pathsIn = (root: string) => ({
  root,
  manifest: join(root, 'manifest.json'),
  audit: join(root, 'audit'),
  blobs: join(root, 'blobs'),
  quarantine: join(root, 'quarantine'),
  state: join(root, 'state'),
  /** Exists from the moment damage was found, so that lists need not read the logs. */
  damaged: join(root, 'damaged.json'),
  /** An empty file: made by a process that waits for the session, removed by the holder that sees it. */
  wanted: join(root, 'wanted'),
})

/** The directory of a session, and its contents. */
export class SessionDirectory {
  readonly disk: Disk
  readonly paths: SessionPaths
  readonly logs: Readonly<Record<LogName, LogFiles>>
  readonly blobs: BlobFiles
  readonly state: StateFiles

  constructor(disk: Disk, root: string) {
    this.disk = disk
    this.paths = pathsIn(root)
    this.logs = {
      journal: { disk, directory: root, log: 'journal' },
      audit: { disk, directory: this.paths.audit, log: 'audit' },
    }
    this.blobs = new BlobFiles(disk, this.paths.blobs)
    this.state = new StateFiles(disk, root, this.paths.state)
  }

  /** The manifest; undefined if it is missing or invalid. */
  readManifest(): Manifest | undefined {
    const text = readFile(this.disk, this.paths.manifest)?.toString()
    return text === undefined ? undefined : parseManifest(text)
  }

  /** Notes that damage was found, so that lists show it and writers verify the session first. */
  async noteDamage(what: string, now: number): Promise<void> {
    const note = `${JSON.stringify({ at: new Date(now).toISOString(), what })}\n`
    try {
      if (this.damageNote() === undefined) await replaceOnDisk(this.disk, this.paths.damaged, note)
    } catch {
      // On a full or read-only disk the caller still reports the damage.
    }
  }

  /** Removes the note of damage, because the session is intact. */
  async forgetDamage(): Promise<void> {
    if (this.damageNote() !== undefined) await this.disk.unlink(this.paths.damaged)
  }

  /** The damage that was noted; undefined if there is no note. */
  damageNote(): string | undefined {
    return readFile(this.disk, this.paths.damaged)?.toString()
  }

  /** The highest epoch in the names of the segments; 0 if there is none. */
  highestHoldEpoch(): number {
    const { journal, audit } = this.logs
    const epochs = [journal, audit].flatMap(({ disk, directory, log }) =>
      listIfExists(disk, directory).map((name) => parseSegmentName(log, name)?.epoch ?? 0),
    )
    return Math.max(0, ...epochs)
  }
}

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

  #find<Found>(id: string, find: () => Found | undefined): Found {
    const found = withHomeErrors(this.path, `look for session ${id}`, find)
    if (found === undefined) throw sessionNotFound(id)
    return found
  }
}

/** `RESUME_MISMATCH` if another store wrote the manifest. */
export const assertFilesystemManifest = ({ session_id: id, store }: Manifest): void =>
  assertWrittenBy(filesystemId, id, store)

export const formatManifest = (manifest: Manifest): string => `${JSON.stringify(manifest, undefined, 2)}\n`
