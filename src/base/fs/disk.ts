import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { notRegularCodes, openRegular } from './regular-file.ts'
import { makePrivateDirectory, openPrivateFile, repeatWrite } from './private-file.ts'
import { ifExists } from './exists.ts'
import { errorCode } from '../errors/stint-error.ts'

/**
 * What durable files ask of a disk, call by call, so that the test suite can put one in its place that crashes, tears and lies. All of it is
 * synchronous: a commit that gives way twice is slower than the disk.
 */
export interface Disk {
  /** A new file, 0600; fails with EEXIST if there is one. */
  create(path: string): number
  /** An existing regular file, to read and write. A link is not followed. */
  open(path: string): number
  /** The same, only to read. */
  openToRead(path: string): number
  /** May write less than it was given, and returns how much. */
  write(file: number, bytes: Uint8Array, from: number, position: number): number
  /** Returns how much was read; 0 at the end. */
  read(file: number, into: Uint8Array, position: number): number
  size(file: number): number
  truncate(file: number, length: number): void
  /** On return, everything written to the file is on the disk. */
  sync(file: number): void
  close(file: number): void
  rename(from: string, to: string): void
  /** A second name for a file; fails with EEXIST if it is taken. */
  link(from: string, to: string): void
  unlink(path: string): void
  /** A new directory, 0700; fails with EEXIST if there is one. */
  makeDirectory(path: string): void
  list(directory: string): string[]
  /** On return, the names in the directory are on the disk. */
  syncDirectory(directory: string): void
}

/** The disk of this machine. */
export const nodeDisk: Disk = {
  create: (path) => openPrivateFile(path, 'wx'),
  open: (path) => openRegular(path, constants.O_RDWR).fd,
  openToRead: (path) => openRegular(path).fd,
  write: (file, bytes, from, position) => writeSync(file, bytes, from, bytes.length - from, position),
  read: (file, into, position) => readSync(file, into, 0, into.length, position),
  size: (file) => fstatSync(file).size,
  truncate: ftruncateSync,
  sync: fdatasyncSync,
  close: closeSync,
  rename: renameSync,
  link: linkSync,
  unlink: unlinkSync,
  makeDirectory: makePrivateDirectory,
  list: (directory) => readdirSync(directory),
  syncDirectory,
}

/** A new name is durable only when its directory is; some file systems refuse, and need it not. */
function syncDirectory(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } catch (error) {
    if (errorCode(error) !== 'EINVAL') throw error
  } finally {
    closeSync(fd)
  }
}

/** Writes all bytes from `position` on; a disk may take them in pieces. */
export const writeFully = (disk: Disk, file: number, bytes: Uint8Array, position: number): void =>
  repeatWrite(bytes.length, (done) => disk.write(file, bytes, done, position + done))

/** The bytes of a file from a position on, at most so many: whole, or up to where it ends. */
export function readFully(disk: Disk, file: number, position: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  let done = 0
  while (done < length) {
    const got = disk.read(file, bytes.subarray(done), position + done)
    if (got === 0) break
    done += got
  }
  return bytes.subarray(0, done)
}

/** A whole file; undefined if there is none, or none that is one. */
export function readFile(disk: Disk, path: string): Buffer | undefined {
  let file: number
  try {
    file = disk.openToRead(path)
  } catch (error) {
    if (notRegularCodes.has(errorCode(error))) return undefined
    throw error
  }
  try {
    return readFully(disk, file, 0, disk.size(file))
  } finally {
    disk.close(file)
  }
}

/** The names in a directory; none if there is no such directory. */
export const listIfExists = (disk: Disk, directory: string): string[] =>
  ifExists(() => disk.list(directory)) ?? []

/**
 * Makes a directory if there is none. On return its name is on the disk, whoever made it: another process may have died, or have met an error, before it
 * had synced that.
 */
export function ensureDirectory(disk: Disk, directory: string): void {
  makeIfMissing(disk, directory)
  disk.syncDirectory(dirname(directory))
}

/** Makes a directory if there is none; true if it had to. */
export function makeIfMissing(disk: Disk, directory: string): boolean {
  try {
    disk.makeDirectory(directory)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}
