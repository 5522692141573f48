import {
  closeSync,
  constants,
  fchmodSync,
  fdatasyncSync,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { isStaged } from '../../../base/fs/atomic-file.ts'
import { ulid } from '../../../base/text/id.ts'
import { safeOpenFlags } from '../../../base/fs/regular-file.ts'
import { ownDirectoryProblem } from '../../../base/fs/own-directory.ts'
import { thisMachine } from '../../../base/process/platform.ts'
import { createPrivateFile, makePrivateDirectory } from '../../../base/fs/private-file.ts'
import { removeTree } from '../../../base/fs/remove-tree.ts'
import { errorCode } from '../../../base/errors/stint-error.ts'

/** A file of the index, as it was read. */
export interface IndexFile {
  name: string
  inode: number
  bytes: Buffer
}

/** Nobody needs more; what is larger was not written by us. */
const maxBytes = 512 << 20
/** Nobody needs so long to replace a file. */
const stagedForMs = 3_600_000

/**
 * The files of an index: `<number>-<boot>.ndjson`, to which everybody appends. The highest number counts. Nothing is synced: after a power cut, lines may be
 * missing, and so a file of another boot is worth nothing. Where no boot can be told from another, each line is synced instead.
 */
export class IndexFiles {
  readonly #directory: string
  readonly #boot = thisMachine().boot

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Is there a directory that can be used, or can one be made? What somebody else put there is left alone, and never believed. */
  prepare(): boolean {
    const stat = lstatSync(this.#directory, { throwIfNoEntry: false })
    if (stat !== undefined) return ownDirectoryProblem(stat) === undefined
    try {
      makePrivateDirectory(this.#directory)
    } catch (error) {
      // No sessions yet, or somebody was faster.
      if (errorCode(error) === 'ENOENT') return false
      if (errorCode(error) !== 'EEXIST') throw error
    }
    return true
  }

  /** On return, everybody who reads the index reads this, too. Where it was written. */
  append(text: string): Omit<IndexFile, 'bytes'> {
    for (;;) {
      const name = this.#current()
      const fd = openRegular(this.#path(name), constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT)
      try {
        writeWhole(fd, text)
        if (this.#boot === '') fdatasyncSync(fd)
        // It may have been replaced while we wrote: then who replaced it has not seen our line.
        const { ino: inode, nlink } = fstatSync(fd)
        if (this.#names().at(-1) === name && nlink > 0) return { name, inode }
      } finally {
        closeSync(fd)
      }
    }
  }

  /** Appends to exactly this file; to none, if another has taken its place. */
  appendTo({ name, inode }: Omit<IndexFile, 'bytes'>, text: string): void {
    const fd = openRegular(this.#path(name), constants.O_WRONLY | constants.O_APPEND)
    try {
      if (fstatSync(fd).ino === inode) writeWhole(fd, text)
    } finally {
      closeSync(fd)
    }
  }

  /** Is it still the file that counts? */
  isCurrent({ name, inode }: Omit<IndexFile, 'bytes'>): boolean {
    try {
      return this.#names().at(-1) === name && lstatSync(this.#path(name)).ino === inode
    } catch {
      return false
    }
  }

  /** The file that counts, made if there is none, and the names of all that were there before it was read. */
  readCurrent(): IndexFile & { names: string[] } {
    const names = this.#names()
    return { ...this.#read(this.#current(names), constants.O_CREAT), names }
  }

  /** Another file of this index; undefined if it is not there. */
  readOther(name: string): IndexFile | undefined {
    if (numberOf(name) === 0) return undefined
    try {
      return this.#read(name, 0)
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined
      throw error
    }
  }

  /** Puts a file with this text after the one that counts; false if somebody else was faster. */
  replace(name: string, text: string): boolean {
    const staged = this.#path(`.${process.pid}-${ulid()}.tmp`)
    try {
      createPrivateFile(staged, text)
      linkSync(staged, this.#path(this.#name(numberOf(name) + 1)))
      return true
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return false
      throw error
    } finally {
      // Also where the disk was full, and only a part of it is there.
      remove(staged)
    }
  }

  /** Removes what a process has left that was killed in the middle of a replacement. */
  #removeStaged(): void {
    for (const name of readdirSync(this.#directory).filter(isStaged)) {
      const stat = lstatSync(this.#path(name), { throwIfNoEntry: false })
      if (stat !== undefined && Date.now() - stat.mtimeMs > stagedForMs) remove(this.#path(name))
    }
  }

  /** Removes the files before this one. */
  removeBefore(name: string): void {
    for (const older of this.#names()) if (numberOf(older) < numberOf(name)) remove(this.#path(older))
    this.#removeStaged()
  }

  /** Removes all of it: nothing can be wrong in an index that is not there. The oldest first, or an old one would count again. */
  removeAll(): void {
    for (const name of this.#names()) remove(this.#path(name))
  }

  #current(names = this.#names()): string {
    const top = names.at(-1)
    if (top === undefined) return this.#name(1)
    return top.endsWith(this.#name(0).slice(1)) ? top : this.#name(numberOf(top) + 1)
  }

  #read(name: string, flags: number): IndexFile {
    const fd = openRegular(this.#path(name), constants.O_RDONLY | flags)
    try {
      const { ino: inode, size } = fstatSync(fd)
      if (size > maxBytes) throw new Error(`${name} is too large to be an index`)
      const bytes = Buffer.allocUnsafe(size)
      let done = 0
      for (let got = -1; done < size && got !== 0; done += got)
        got = readSync(fd, bytes, done, size - done, done)
      return { name, inode, bytes: bytes.subarray(0, done) }
    } finally {
      closeSync(fd)
    }
  }

  /** In order, those of other boots among them. */
  #names(): string[] {
    const names = readdirSync(this.#directory).filter((name) => numberOf(name) > 0)
    return names.sort((a, b) => numberOf(a) - numberOf(b) || (a < b ? -1 : 1))
  }

  #name(number: number): string {
    return `${number}-${this.#boot}.ndjson`
  }

  #path(name: string): string {
    return join(this.#directory, name)
  }
}

const numberOf = (name: string): number =>
  Number(/^([1-9]\d{0,14})-[\w-]{0,64}\.ndjson$/.exec(name)?.[1] ?? 0)

function openRegular(path: string, flags: number): number {
  const fd = openSync(path, flags | safeOpenFlags, 0o600)
  const stat = fstatSync(fd)
  // A umask can take permissions from us, too.
  if (stat.isFile() && (stat.mode & 0o777) !== 0o600) fchmodSync(fd, 0o600)
  if (stat.isFile()) return fd
  closeSync(fd)
  throw Object.assign(new Error(`${path} is not a regular file`), { code: 'EISDIR' })
}

/** In one call: half a line, and then somebody else's, would spoil both. */
function writeWhole(fd: number, text: string): void {
  const bytes = Buffer.from(text)
  if (writeSync(fd, bytes) < bytes.length) throw Object.assign(new Error('no room'), { code: 'ENOSPC' })
}

function remove(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return
    // A directory that somebody put there.
    if (removeTree(path).failures.length > 0) throw error
  }
}
