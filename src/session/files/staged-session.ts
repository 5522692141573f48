import { lstatSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { type Disk, nodeDisk } from '../../base/fs/disk.ts'
import { lstatIfExists } from '../../base/fs/exists.ts'
import { homeUnsafe, stintHome } from '../../base/fs/home.ts'
import { measureTree } from '../../base/fs/measure-tree.ts'
import { ownDirectoryProblem } from '../../base/fs/own-directory.ts'
import { nothingRemoved, type Removal, removeTree } from '../../base/fs/remove-tree.ts'
import { pidExists } from '../../base/process/platform.ts'
import { ulid } from '../../base/text/id.ts'
import { errorCode } from '../../base/errors/stint-error.ts'
import type { Manifest } from '../manifest.ts'
import { sessionExists } from '../session-errors.ts'
import { namesIn } from './find-session.ts'
import { forgetHold, markHold } from './list-cache.ts'
import { sessionPathsIn, type SessionPaths } from './paths.ts'
import { sessionsDirectoryIn } from './sessions-directory.ts'

/** A session comes into being whole: it is made under a name that nobody looks at, and renamed. */
export function stageDirectory(disk: Disk, sessions: string): SessionPaths {
  const staged = sessionPathsIn(join(sessions, `.new-${process.pid}-${ulid()}`))
  disk.makeDirectory(staged.root)
  return staged
}

/** The same with its manifest. */
export function stageSession(disk: Disk, sessions: string, manifest: Manifest): SessionPaths {
  const staged = stageDirectory(disk, sessions)
  try {
    replaceFile(staged.manifest, formatManifest(manifest), disk)
  } catch (error) {
    rmSync(staged.root, { recursive: true, force: true })
    throw error
  }
  return staged
}

/** Gives a staged session its name. `epoch` is that of its lock. `NAME_TAKEN` if there is such a session. */
export function publishSession(
  disk: Disk,
  staged: SessionPaths,
  paths: SessionPaths,
  { created_at }: Manifest,
  epoch = 0,
): void {
  // The cache of lists may still have an earlier session with this id.
  const hold = { root: paths.root, createdAt: Date.parse(created_at), epoch }
  markHold(hold)
  try {
    disk.rename(staged.root, paths.root)
  } catch (error) {
    forgetHold(hold)
    if (!['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw error
    throw sessionExists(basename(paths.root), error)
  }
  disk.syncDirectory(dirname(paths.root))
}

/** The process that stages a session under this name; undefined for any other name. */
function makerOf(name: string): number | undefined {
  const match = /^\.new-(\d{1,10})-[0-9A-HJKMNP-TV-Z]{26}$/.exec(name)
  return match === null ? undefined : Number(match[1])
}

export interface StagedSweepOptions {
  /** `$STINT_HOME` by default. */
  home?: string
  /** Reports the directories that would be removed, with their sizes, and changes nothing. */
  dryRun?: boolean
  /** Removes only directories that have not changed for this many milliseconds. */
  olderThanMs?: number
}

/** A staging directory that a sweep removed, or would remove. */
export interface SweptStagedSession {
  path: string
  removal: Removal
}

/** Removes staging directories whose makers died before publishing the session. */
export function sweepStagedSessions({
  home = stintHome(),
  dryRun = false,
  olderThanMs = 0,
}: StagedSweepOptions = {}): SweptStagedSession[] {
  const sessions = sessionsDirectoryIn(home)
  assertOwnDirectory(sessions)
  const swept: SweptStagedSession[] = []
  for (const name of namesIn(nodeDisk, sessions)) {
    const pid = makerOf(name)
    if (pid === undefined) continue
    const path = join(sessions, name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined || ownDirectoryProblem(stat) !== undefined) continue
    const ageMs = Date.now() - stat.mtimeMs
    if (ageMs < olderThanMs || !isAbandoned(ageMs, pidExists(pid))) continue
    const removal = dryRun
      ? { ...nothingRemoved(), bytes: measureTree(path) }
      : removeTree(path, { inode: stat.ino, measure: true })
    swept.push({ path, removal })
  }
  return swept
}

/**
 * Throws `HOME_UNSAFE` for anything but a directory of this user: a link would make the sweep delete
 * elsewhere.
 */
function assertOwnDirectory(path: string): void {
  const stat = lstatIfExists(path)
  const problem = stat && ownDirectoryProblem(stat)
  if (problem !== undefined) throw homeUnsafe(path, problem)
}

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/**
 * Decides whether a staging directory may go. The pid alone proves little: it may have been reused, and a
 * maker in another pid namespace is invisible here. So an absent maker loses the directory after a minute,
 * any other after a day; a large import takes long.
 */
export const isAbandoned = (ageMs: number, makerExists: boolean): boolean =>
  ageMs > dayMs || (!makerExists && ageMs > minuteMs)

export const formatManifest = (manifest: Manifest): string => `${JSON.stringify(manifest, undefined, 2)}\n`
