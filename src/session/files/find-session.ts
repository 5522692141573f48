import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Disk, listIfExists, readFile } from '../../base/fs/disk.ts'
import { withHomeErrors, homeUnsafe } from '../../base/fs/home.ts'
import { isSessionId } from '../../base/text/id.ts'
import { ownDirectoryProblem } from '../../base/fs/own-directory.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import { type Manifest, parseManifest } from '../manifest.ts'
import { assertWrittenBy, checkSessionId, sessionNotFound } from '../session-errors.ts'
import { sessionPathsIn, type SessionPaths } from './paths.ts'

/** What every manifest of this store names as the store that wrote it. */
export const filesystemId = 'filesystem'

/** The ids of all sessions, as their directories are named; whether each can be read, only a look into it tells. */
export const sessionIdsIn = (disk: Disk, sessions: string): string[] =>
  namesIn(disk, sessions).filter(isSessionId)

/** Whatever lies in the directory of all sessions. */
export const namesIn = (disk: Disk, sessions: string): string[] =>
  withHomeErrors(dirname(sessions), 'list the sessions', () => listIfExists(disk, sessions))

/** Where a session lies: `NOT_FOUND` if there is none, `HOME_UNSAFE` if its directory is not ours. */
export function locateSession(sessions: string, id: string): SessionPaths {
  checkSessionId(id)
  const paths = sessionPathsIn(join(sessions, id))
  const stat = finding(sessions, id, () => lstatSync(paths.root, { throwIfNoEntry: false }))
  if (stat === undefined) throw sessionNotFound(id)
  const problem = ownDirectoryProblem(stat)
  if (problem !== undefined) throw homeUnsafe(paths.root, problem)
  return paths
}

/** The session's directory and manifest; the manifest says whether it is this store's before anything else is read. */
export function findSession(
  disk: Disk,
  sessions: string,
  id: string,
): { paths: SessionPaths; manifest: Manifest } {
  const paths = locateSession(sessions, id)
  const text = finding(sessions, id, () => readFile(disk, paths.manifest)?.toString())
  if (text === undefined) throw sessionNotFound(id)
  const manifest = parseManifest(text)
  if (manifest === undefined || manifest.session_id !== id)
    throw new StintError('JOURNAL_CORRUPT', `the manifest of ${id} makes no sense: ${paths.manifest}`)
  assertFilesystemManifest(manifest)
  return { paths, manifest }
}

const finding = <Found>(sessions: string, id: string, find: () => Found): Found =>
  withHomeErrors(dirname(sessions), `look for session ${id}`, find)

/** Undefined if there is none, or none that makes sense. */
export function readManifestFile(disk: Disk, { manifest }: SessionPaths): Manifest | undefined {
  const text = readFile(disk, manifest)?.toString()
  return text === undefined ? undefined : parseManifest(text)
}

/** A session is resumed only through the store that wrote it. */
export const assertFilesystemManifest = ({ session_id: id, store }: Manifest): void =>
  assertWrittenBy(filesystemId, id, store)
