import { lstatSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errorCode } from '../../base/errors/stint-error.ts'
import { replaceOnDisk } from '../../base/fs/atomic-file.ts'
import {
  closing,
  type Disk,
  ensureDirectory,
  listIfExists,
  nodeDisk,
  writeInPieces,
} from '../../base/fs/disk.ts'
import { lstatIfExists } from '../../base/fs/exists.ts'
import { assertOwnHomeDirectory, stintHome, withHomeErrors } from '../../base/fs/home.ts'
import { SpaceCounter, measureTree } from '../../base/fs/measure-tree.ts'
import { ownDirectoryProblem } from '../../base/fs/private-file.ts'
import { nothingRemoved, type Removal, removeTree } from '../../base/fs/remove-tree.ts'
import { pidExists } from '../../base/process/platform.ts'
import { ulid } from '../../base/text/id.ts'
import { type LogName, logNames } from '../log/codec.ts'
import type { Manifest } from '../manifest.ts'
import type { SessionContents } from '../medium.ts'
import { sessionExists } from '../session-errors.ts'
import { firstSegment } from './log-files.ts'
import { formatManifest, SessionDirectory, sessionsDirectoryIn } from './session-directory.ts'

/**
 * A session that is being created, under a name that no reader looks at. It is published, whole, by one
 * rename; disposed of before that, it is removed.
 */
export class StagedSession implements Disposable {
  readonly directory: SessionDirectory
  #isPublished = false

  /** Makes an empty staged session. */
  static async make(disk: Disk, sessions: string): Promise<StagedSession> {
    const directory = new SessionDirectory(disk, join(sessions, `.new-${process.pid}-${ulid()}`))
    await disk.makeDirectory(directory.paths.root)
    return new StagedSession(directory)
  }

  private constructor(directory: SessionDirectory) {
    this.directory = directory
  }

  /** Writes the contents of another session, and the manifest. */
  async load(manifest: Manifest, contents: SessionContents): Promise<void> {
    const { disk, paths } = this.directory
    for (const log of logNames) await loadLog(this.directory, log, contents)
    for await (const { sha256, content } of contents.blobs()) await this.directory.putBlob(sha256, content)
    await replaceOnDisk(disk, paths.manifest, formatManifest(manifest))
  }

  /** Writes the manifest and an empty journal, so that one sync makes the names of both durable. */
  async writeNewSession(manifest: Manifest): Promise<void> {
    const { disk, paths } = this.directory
    // No reader looks here before the session is published, so the manifest needs no temp file.
    using file = closing(disk, await disk.create(paths.manifest))
    disk.close(await disk.create(join(paths.root, firstSegment('journal'))))
    await writeInPieces(disk, file.fd, Buffer.from(formatManifest(manifest)), 0)
    await disk.sync(file.fd)
    await disk.syncDirectory(paths.root)
  }

  /** Publishes the session that the manifest names. `NAME_TAKEN`. */
  async publish({ session_id: id }: Manifest): Promise<SessionDirectory> {
    const { disk, paths } = this.directory
    const sessions = dirname(paths.root)
    const root = join(sessions, id)
    try {
      await disk.rename(paths.root, root)
    } catch (error) {
      if (!['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw error
      throw sessionExists(basename(root), error)
    }
    try {
      await disk.syncDirectory(sessions)
    } catch (error) {
      // The creator hears that there is no session, so take it back: a second attempt needs the name.
      await disk.rename(root, paths.root)
      throw error
    }
    this.#isPublished = true
    return new SessionDirectory(disk, root)
  }

  [Symbol.dispose](): void {
    if (!this.#isPublished) rmSync(this.directory.paths.root, { recursive: true, force: true })
  }
}

/** Writes and syncs a log of a session that is being created. */
async function loadLog(
  { disk, logs }: SessionDirectory,
  log: LogName,
  contents: SessionContents,
): Promise<void> {
  const { directory } = logs[log]
  const groups = contents.groups(log)[Symbol.asyncIterator]()
  let group = await groups.next()
  // An audit log without lines has no file.
  if (group.done && log === 'audit') return
  await ensureDirectory(disk, directory)
  using file = closing(disk, await disk.create(join(directory, firstSegment(log))))
  for (let offset = 0; !group.done; group = await groups.next()) {
    const { lines } = group.value
    await writeInPieces(disk, file.fd, lines, offset)
    offset += lines.length
  }
  await disk.sync(file.fd)
  await disk.syncDirectory(directory)
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
  /** Leaves alone what was changed less than this many milliseconds ago. */
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
  const looking = <Found>(look: () => Found): Found => withHomeErrors(home, 'look at the sessions', look)
  looking(() => {
    const stat = lstatIfExists(sessions)
    if (stat !== undefined) assertOwnHomeDirectory(sessions, stat)
  })
  const swept: SweptStagedSession[] = []
  for (const name of looking(() => listIfExists(nodeDisk, sessions))) {
    const pid = makerOf(name)
    if (pid === undefined) continue
    const path = join(sessions, name)
    const stat = looking(() => lstatSync(path, { throwIfNoEntry: false }))
    if (stat === undefined || ownDirectoryProblem(stat) !== undefined) continue
    const ageMs = Date.now() - stat.mtimeMs
    if (ageMs < olderThanMs || !isAbandoned(ageMs, pidExists(pid))) continue
    const removal = dryRun
      ? { ...nothingRemoved(), ...measureTree(path, new SpaceCounter('last')) }
      : removeTree(path, { inode: stat.ino, measure: true })
    swept.push({ path, removal })
  }
  return swept
}

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/**
 * Decides whether a staging directory may go. The pid alone proves little: it may have been reused, and a
 * maker in another pid namespace is invisible here. So an absent maker loses the directory after a minute,
 * any other after a day: a large import takes long.
 */
export const isAbandoned = (ageMs: number, makerExists: boolean): boolean =>
  ageMs > dayMs || (!makerExists && ageMs > minuteMs)
