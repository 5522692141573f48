import { createHash, type Hash } from 'node:crypto'
import {
  fstatSync,
  fsync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  type Stats,
  write,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { codedError, errorCode } from '../base/errors/stint-error.ts'
import { closing, nodeDisk } from '../base/fs/disk.ts'
import { lstatIfExists } from '../base/fs/exists.ts'
import { isWithin } from '../base/fs/paths.ts'
import { makePrivateDirectories, openPrivateFile, writeAll } from '../base/fs/private-file.ts'
import { openRegular } from '../base/fs/regular-file.ts'
import { withLock } from './conversation-lock.ts'
import { type ConversationRecord, type CopyLine, readRecord, recordName } from './conversation-record.ts'
import type { Source, SourceFile, Unread } from './find-conversations.ts'
import { piecesOf } from './read-conversation.ts'

/** In the thread pool: while one conversation waits for the disk, another is read and hashed. */
const syncLater = promisify(fsync)
const writeLater = promisify(write)
const newline = 0x0a
/** A file whose last line is not finished is taken as it is when it has not changed for this long. */
const quietMs = 300_000
/** The clock of a file system may be this coarse: a file can change again without a new time. */
const racyMs = 50

/** How many bytes were stored, and which files were not read. */
export interface Copied {
  bytes: number
  unread: Unread[]
}

export interface CopyOptions {
  /** The session has ended: its last line is complete, or never will be. */
  hasEnded?: boolean
  /** Asked under the lock: the conversation may have been removed from the vault while this copy waited. */
  isWanted?: () => boolean
}

/** Stores what is new of a conversation in this directory of the vault. */
export async function copyConversation(
  directory: string,
  source: Source,
  { hasEnded = false, isWanted = () => true }: CopyOptions = {},
): Promise<Copied> {
  try {
    makePrivateDirectories(directory)
    return await withLock(directory, async () => {
      const copy = new ConversationCopy(readRecord(directory), source, hasEnded)
      if (isWanted()) await copy.copyAll()
      return copy.copied
    })
  } catch (error) {
    throw codedError(error, `copy the conversation ${source.id} into the vault`)
  }
}

/** True if the files of a conversation are as the vault has noted them. */
export const isAsRecorded = (record: ConversationRecord, { files }: Source): boolean =>
  files.every((file) => {
    const noted = record.copyFrom(file)
    const stat = noted && lstatIfExists(file.path)
    return stat !== undefined && isUnchanged(noted, stat)
  })

const isUnchanged = (noted: CopyLine | undefined, { size, mtimeMs, ino }: Stats): boolean =>
  noted !== undefined && noted.size === size && noted.mtime === mtimeMs && noted.ino === ino

class ConversationCopy {
  readonly copied: Copied = { bytes: 0, unread: [] }
  #hasNewLines = false
  /** Directories with new names. */
  readonly #unsynced = new Set<string>()

  constructor(
    readonly record: ConversationRecord,
    readonly source: Source,
    readonly hasEnded: boolean,
  ) {}

  async copyAll(): Promise<void> {
    try {
      for (const file of [...this.source.files, ...(this.source.more?.() ?? [])]) await this.#tryCopy(file)
    } finally {
      // What was stored before a failure counts.
      await this.#replaceRecord()
    }
  }

  async #tryCopy(file: SourceFile): Promise<void> {
    try {
      const noted = this.record.copyFrom(file)
      if (isUnchanged(noted, lstatSync(file.path))) return
      using opened = closing(nodeDisk, openRegular(file.path).fd)
      await this.#copy(file, opened.fd, noted)
    } catch (error) {
      const { path, syscall, code = '' } = error as NodeJS.ErrnoException
      // Only sources are read here, and a descriptor has no path. A fault of the vault ends the copy.
      if (path !== file.path && syscall !== 'read') throw error
      if (code !== 'ENOENT') this.copied.unread.push({ path: file.path, error: code })
    }
  }

  /** Stores what is new of an open file, unless the file is changed meanwhile, other than by appending. */
  async #copy(file: SourceFile, fd: number, noted: CopyLine | undefined): Promise<void> {
    const readAt = Date.now()
    const stat = fstatSync(fd)
    const { version, hash } = this.#storedPrefix(file, noted, fd, stat.size)
    const offset = version?.bytes ?? 0
    const end = Math.max(offset, this.#endOf(file, fd, stat))
    if (end === 0) return
    const generation = version?.generation ?? this.#newGeneration(file)
    const path = this.record.pathOf({ generation, file: file.name })
    if (end > offset) await this.#store(path, fd, { offset, end, hash })
    const after = fstatSync(fd)
    if (after.size < end || (after.size === stat.size && after.mtimeMs !== stat.mtimeMs)) return
    const isSettled =
      end === stat.size && after.size === stat.size && Math.abs(readAt - stat.mtimeMs) > racyMs
    // An unfinished line that still waits is not worth a line in the record.
    if (end === offset && !isSettled && noted !== undefined) return
    const line: CopyLine = {
      at: Date.now(),
      file: file.name,
      generation,
      bytes: end,
      sha256: hash.digest('hex'),
      source: file.path,
      root: this.source.root,
      size: stat.size,
      mtime: isSettled ? stat.mtimeMs : null,
      ino: stat.ino,
    }
    this.record.add(line)
    this.#hasNewLines = true
    this.copied.bytes += end - offset
  }

  /** The version that the file begins with, if it does; and the hash of that part of the file. */
  #storedPrefix(
    { name }: SourceFile,
    noted: CopyLine | undefined,
    fd: number,
    size: number,
  ): { version?: CopyLine; hash: Hash } {
    const copies = this.record.files.get(name) ?? []
    const { generation } = noted ?? copies.at(-1) ?? {}
    const version = copies.findLast((copy) => copy.generation === generation)
    const hash = createHash('sha256')
    if (version === undefined || version.bytes > size) return { hash }
    const onDisk = lstatIfExists(this.record.pathOf(version))
    if (!onDisk?.isFile() || onDisk.size < version.bytes) return { hash }
    for (const bytes of piecesOf(fd, 0, version.bytes)) hash.update(bytes)
    return hash.copy().digest('hex') === version.sha256 ? { version, hash } : { hash: createHash('sha256') }
  }

  /** Where the last whole line ends. The rest waits, as the agent may be writing it at this moment. */
  #endOf(file: SourceFile, fd: number, { size, mtimeMs }: Stats): number {
    const isOver = this.hasEnded || Math.abs(Date.now() - mtimeMs) > quietMs
    if (isOver || !file.name.endsWith('.jsonl')) return size
    const chunk = Buffer.allocUnsafe(64 << 10)
    for (let end = size; end > 0;) {
      const start = Math.max(0, end - chunk.length)
      const length = readSync(fd, chunk, 0, end - start, start)
      const last = chunk.subarray(0, length).lastIndexOf(newline)
      if (last >= 0) return start + last + 1
      end = start
    }
    return 0
  }

  /**
   * A file that is in the newest generation already begins the next one. A file on disk that the record does
   * not name may be all that is left of a conversation, as a record can be damaged: it is never overwritten.
   */
  #newGeneration({ name: file }: SourceFile): number {
    let generation = Math.max(1, this.record.lastGeneration)
    while (lstatIfExists(this.record.pathOf({ generation, file })) !== undefined) generation += 1
    return generation
  }

  /** Writes a part of a source behind what is stored, and syncs it. */
  async #store(path: string, fd: number, part: { offset: number; end: number; hash: Hash }): Promise<void> {
    if (part.offset === 0) {
      makePrivateDirectories(dirname(path))
      for (let parent = dirname(path); isWithin(parent, this.record.directory); parent = dirname(parent))
        this.#unsynced.add(parent)
    }
    using stored = closing(nodeDisk, openPrivateFile(path, 'a'))
    // A copier that was killed may have left more than it acknowledged.
    ftruncateSync(stored.fd, part.offset)
    for (const bytes of piecesOf(fd, part.offset, part.end)) {
      part.hash.update(bytes)
      for (let done = 0; done < bytes.length;)
        done += (await writeLater(stored.fd, bytes, done, bytes.length - done)).bytesWritten
    }
    await syncLater(stored.fd)
  }

  /** Syncs the names of new files, then replaces the record, which acknowledges them. */
  async #replaceRecord(): Promise<void> {
    if (!this.#hasNewLines) return
    await Promise.all([...this.#unsynced].map(syncDirectory))
    const path = join(this.record.directory, recordName)
    // The lock is held, so a file of this name was left behind by a copier that was killed.
    using staged = closing(nodeDisk, openPrivateFile(`${path}.new`, 'a'))
    ftruncateSync(staged.fd, 0)
    writeAll(staged.fd, String(this.record))
    await syncLater(staged.fd)
    renameSync(`${path}.new`, path)
    await syncDirectory(this.record.directory)
  }
}

/** A file system that refuses directories with EINVAL does not need it. */
async function syncDirectory(path: string): Promise<void> {
  using directory = closing(nodeDisk, openSync(path, 'r'))
  try {
    await syncLater(directory.fd)
  } catch (error) {
    if (errorCode(error) !== 'EINVAL') throw error
  }
}
