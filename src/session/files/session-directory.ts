import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { StintError } from '../../base/errors/stint-error.ts'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { type Disk, listIfExists, readFile } from '../../base/fs/disk.ts'
import { ensureHomeDirectory, homeUnsafe, withHomeErrors } from '../../base/fs/home.ts'
import { ownDirectoryProblem } from '../../base/fs/own-directory.ts'
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

/** Makes the directory of all sessions, or checks the one that exists. */
export function ensureSessions(home: string): string {
  const sessions = sessionsDirectoryIn(home)
  for (const path of [home, sessions]) ensureHomeDirectory(path)
  return sessions
}

/** Syncs the names of the home and of its `sessions`: until then, nothing in them is durable. */
export function syncSessionsName(disk: Disk, home: string): void {
  disk.syncDirectory(home)
  try {
    disk.syncDirectory(dirname(home))
  } catch {
    // The parent of the home may belong to another user, and not be readable.
  }
}

/** The ids of all directories that can be sessions; whether each can be read, only reading it shows. */
export const sessionIdsIn = (disk: Disk, sessions: string): string[] =>
  withHomeErrors(dirname(sessions), 'list the sessions', () => listIfExists(disk, sessions)).filter(
    isSessionId,
  )

/** Finds the directory of a session. `NOT_FOUND`; `HOME_UNSAFE` for a link or another user's directory. */
export function locateSession(disk: Disk, sessions: string, id: string): SessionDirectory {
  checkSessionId(id)
  const root = join(sessions, id)
  const stat = whileFinding(sessions, id, () => lstatSync(root, { throwIfNoEntry: false }))
  if (stat === undefined) throw sessionNotFound(id)
  const problem = ownDirectoryProblem(stat)
  if (problem !== undefined) throw homeUnsafe(root, problem)
  return new SessionDirectory(disk, root)
}

/** A session and its manifest. */
export interface FoundSession {
  directory: SessionDirectory
  manifest: Manifest
}

/** Finds a session. Its manifest is read first, because it tells whether this store wrote the session. */
export function findSession(disk: Disk, sessions: string, id: string): FoundSession {
  const directory = locateSession(disk, sessions, id)
  const path = directory.paths.manifest
  const text = whileFinding(sessions, id, () => readFile(disk, path)?.toString())
  if (text === undefined) throw sessionNotFound(id)
  const manifest = parseManifest(text)
  if (manifest === undefined || manifest.session_id !== id)
    throw new StintError('JOURNAL_CORRUPT', `the manifest of ${id} is invalid: ${path}`)
  assertFilesystemManifest(manifest)
  return { directory, manifest }
}

const whileFinding = <Found>(sessions: string, id: string, find: () => Found): Found =>
  withHomeErrors(dirname(sessions), `look for session ${id}`, find)

/** `RESUME_MISMATCH` if another store wrote the manifest. */
export const assertFilesystemManifest = ({ session_id: id, store }: Manifest): void =>
  assertWrittenBy(filesystemId, id, store)

export const formatManifest = (manifest: Manifest): string => `${JSON.stringify(manifest, undefined, 2)}\n`
