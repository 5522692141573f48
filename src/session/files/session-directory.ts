import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { succeeds } from '../../base/errors/if-possible.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { type Disk, listIfExists, nodeDisk, readFile } from '../../base/fs/disk.ts'
import { assertOwnHomeDirectory, ensureHomeDirectory, withHomeErrors } from '../../base/fs/home.ts'
import { type Clock, systemClock } from '../../base/process/clock.ts'
import { isSessionId } from '../../base/text/id.ts'
import { Blobs } from '../log/blobs.ts'
import { codecs } from '../log/codec.ts'
import type { LogName } from '../log/log-end.ts'
import { type LogFiles, parseSegmentName } from '../log/log-files.ts'
import { type Manifest, parseManifest } from '../manifest.ts'
import { assertWrittenBy, checkSessionId, sessionNotFound } from '../session-errors.ts'
import { Snapshots } from './snapshots.ts'

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
  snapshots: join(root, 'snapshots'),
  spool: join(root, 'spool'),
  state: join(root, 'state'),
  /** Exists from the moment damage was found until it is repaired, so that lists need not read the logs. */
  damaged: join(root, 'damaged.json'),
})

/** The directory of a session, and its contents. */
export class SessionDirectory {
  readonly disk: Disk
  readonly paths: SessionPaths
  readonly logs: Readonly<Record<LogName, LogFiles>>
  readonly blobs: Blobs
  readonly snapshots: Snapshots

  constructor(disk: Disk, root: string) {
    this.disk = disk
    this.paths = pathsIn(root)
    this.logs = {
      journal: { disk, directory: root, log: 'journal', codec: codecs.journal },
      audit: { disk, directory: this.paths.audit, log: 'audit', codec: codecs.audit },
    }
    this.blobs = new Blobs(disk, this.paths.blobs)
    this.snapshots = new Snapshots(disk, this.paths)
  }

  /** The manifest; undefined if it is missing or invalid. */
  readManifest(): Manifest | undefined {
    const text = readFile(this.disk, this.paths.manifest)?.toString()
    return text === undefined ? undefined : parseManifest(text)
  }

  /** Notes that damage was found, so that lists show it and writers verify the session first. */
  noteDamage(what: string, now: number): void {
    const { damaged } = this.paths
    try {
      if (this.isDamageNoted()) return
      replaceFile(damaged, `${JSON.stringify({ at: new Date(now).toISOString(), what })}\n`, this.disk)
    } catch {
      // On a full or read-only disk the caller still reports the damage.
    }
  }

  isDamageNoted(): boolean {
    return readFile(this.disk, this.paths.damaged) !== undefined
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
  readonly disk: Disk
  readonly clock: Clock
  #isNameSynced = false

  constructor(path: string, disk: Disk = nodeDisk, clock: Clock = systemClock) {
    this.path = path
    this.sessions = sessionsDirectoryIn(path)
    this.trash = join(path, 'trash')
    this.disk = disk
    this.clock = clock
  }

  /** Makes the directory of all sessions, or checks the one that exists, and makes its name durable. */
  ensure(): void {
    for (const path of [this.path, this.sessions]) ensureHomeDirectory(path)
    if (this.#isNameSynced) return
    this.disk.syncDirectory(this.path)
    // The parent of the home may belong to another user, and not be readable.
    succeeds(() => this.disk.syncDirectory(dirname(this.path)))
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
