import { createHash } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { codedError, errorCode, StintError } from '../../base/errors/stint-error.ts'
import { renameOnDisk, replaceOnDisk } from '../../base/fs/atomic-file.ts'
import {
  closing,
  type Disk,
  ensureDirectory,
  listIfExists,
  makeIfMissing,
  pieceBytes,
  readFile,
} from '../../base/fs/disk.ts'
import { homeError } from '../../base/fs/home.ts'
import { ifRegular } from '../../base/fs/regular-file.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import type { LogName } from '../log/codec.ts'
import { headName } from '../log/snapshot.ts'
import { type Manifest, parseManifest } from '../manifest.ts'
import { assertWrittenBy, sessionNotFound } from '../session-errors.ts'
import { type LogFiles, parseSegmentName } from './log-files.ts'

/** The id of this store, which each of its manifests names. */
export const filesystemId = 'filesystem'

/** The directory of all sessions in a home. */
export const sessionsDirectoryIn = (home: string): string => join(home, 'sessions')

/** A session and its manifest. */
export interface FoundSession {
  directory: SessionDirectory
  manifest: Manifest
}

/** `RESUME_MISMATCH` if another store wrote the manifest. */
export const assertFilesystemManifest = ({ session_id: id, store }: Manifest): void =>
  assertWrittenBy(filesystemId, id, store)

/** The paths of a session. */
export type SessionPaths = ReturnType<typeof pathsIn>

const pathsIn = (root: string) => ({
  root,
  manifest: join(root, 'manifest.json'),
  audit: join(root, 'audit'),
  blobs: join(root, 'blobs'),
  quarantine: join(root, 'quarantine'),
  snapshot: join(root, 'snapshot.json'),
  state: join(root, 'state'),
  /** Exists from the moment damage was found, so that lists need not read the logs. */
  damaged: join(root, 'damaged.json'),
  /** An empty file: made by a process that waits for the session, removed by the holder that sees it. */
  wanted: join(root, 'wanted'),
})

/** The directory of a session, and its contents but for the lines of the logs. */
export class SessionDirectory {
  readonly disk: Disk
  readonly paths: SessionPaths
  readonly logs: Readonly<Record<LogName, LogFiles>>
  /** The blobs that this object has stored. */
  readonly #blobs = new Set<string>()
  #hasStateDirectory = false

  constructor(disk: Disk, root: string) {
    this.disk = disk
    this.paths = pathsIn(root)
    this.logs = {
      journal: { disk, directory: root, log: 'journal' },
      audit: { disk, directory: this.paths.audit, log: 'audit' },
    }
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

  /** Stores the content of a blob. When it resolves, the content is on disk, and a record may name it. */
  async putBlob(sha256: string, content: Uint8Array): Promise<void> {
    if (this.#blobs.has(sha256)) return
    if (this.#blobs.size === 0) await ensureDirectory(this.disk, this.paths.blobs)
    await replaceOnDisk(this.disk, join(this.paths.blobs, sha256), content)
    this.#blobs.add(sha256)
  }

  /** The content of a blob in pieces, as the file has it; none if there is no such file. */
  async *readBlob(sha256: string): AsyncGenerator<Buffer> {
    const { disk } = this
    const fd = ifRegular(() => disk.openToRead(join(this.paths.blobs, sha256)))
    if (fd === undefined) return
    using file = closing(disk, fd)
    for (let offset = 0; ;) {
      const piece = Buffer.allocUnsafe(Math.min(pieceBytes, disk.size(file.fd) - offset))
      const bytes = piece.length === 0 ? 0 : disk.read(file.fd, piece, offset)
      if (bytes === 0) return
      yield piece.subarray(0, bytes)
      offset += bytes
      await giveWay()
    }
  }

  /**
   * Replaces texts of the state by renames. They are a cache of the logs, so only a close syncs them; the
   * name of the head is synced with that of the manifest, which follows.
   */
  async saveState(texts: ReadonlyMap<string, string>, isClosing: boolean): Promise<void> {
    const { disk, paths } = this
    const hasSlots = [...texts.keys()].some((name) => name !== headName)
    if (hasSlots && !this.#hasStateDirectory) await makeIfMissing(disk, paths.state)
    this.#hasStateDirectory ||= hasSlots
    for (const [name, text] of texts)
      await renameOnDisk(disk, this.#statePath(name), Buffer.from(text), isClosing)
    if (hasSlots && isClosing) await disk.syncDirectory(paths.state)
  }

  /** Those of the texts that are there. */
  readState(names: readonly string[]): Map<string, string> {
    const texts = new Map<string, string>()
    for (const name of names) {
      const bytes = readFile(this.disk, this.#statePath(name))
      if (bytes !== undefined) texts.set(name, bytes.toString())
    }
    return texts
  }

  #statePath(name: string): string {
    return name === headName ? this.paths.snapshot : join(this.paths.state, `${fileNameOf(name)}.json`)
  }
}

/** The longest name that every file system takes, without the suffix and that of a temp file. */
const maxNameLength = 200

/** A slot's name as the name of a file: a slash and a leading dot are escaped, and a long name is cut. */
export function fileNameOf(slot: string): string {
  const escaped = slot.replace(/^\./, '%2E').replaceAll('/', '%2F')
  if (escaped.length <= maxNameLength) return escaped
  const hash = createHash('sha256').update(slot).digest('hex')
  return `${escaped.slice(0, maxNameLength - 65)}%${hash}`
}

export const formatManifest = (manifest: Manifest): string => `${JSON.stringify(manifest, undefined, 2)}\n`

/** The path is a file instead of a directory, a directory or a link instead of a file, or a device. */
const misplacedCodes = new Set(['ENOTDIR', 'EISDIR', 'ELOOP', 'ENXIO'])

/** Acts on the files of a session, whose directory is `root`. Codes what it throws, and its rejection. */
export function withFileErrors<Result>(doing: string, root: string | undefined, act: () => Result): Result {
  const rethrow = (error: unknown): never => {
    throw sessionFileError(error, doing, root)
  }
  try {
    const result = act()
    return result instanceof Promise ? (result.catch(rethrow) as Result) : result
  } catch (error) {
    return rethrow(error)
  }
}

/** Turns an error of a file operation into a coded error. `doing` completes "cannot …". */
export function sessionFileError(error: unknown, doing: string, root?: string): unknown {
  const errno = errorCode(error)
  if (errno === undefined || error instanceof StintError) return error
  const isMissing = errno === 'ENOENT' && root !== undefined
  // The session may have been removed just now.
  if (isMissing && lstatSync(root, { throwIfNoEntry: false }) === undefined)
    return sessionNotFound(basename(root), error)
  if (!isMissing && !misplacedCodes.has(errno))
    return root === undefined ? codedError(error, doing) : homeError(error, dirname(dirname(root)), doing)
  const { path = 'something in its directory' } = error as { path?: string }
  const problem = isMissing ? 'is missing' : 'is not what stint put there'
  return new StintError('JOURNAL_CORRUPT', `cannot ${doing}: ${path} ${problem}`, {
    cause: error,
    detail: `errno=${errno}`,
    ...(isMissing ? {} : { hint: 'Look at it, and move it away.' }),
  })
}
