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
import { ifRegular, openRegular } from './regular-file.ts'
import { makePrivateDirectory, openPrivateFile } from './private-file.ts'
import { type DiskSteps, pieceBytes } from './disk-steps.ts'
import { runToEnd } from '../process/run-generator.ts'
import { ifExists, unless } from './exists.ts'
import { errorCode } from '../errors/stint-error.ts'

/**
 * The calls that durable files make; tests replace them with a disk that crashes and tears writes. All are
 * synchronous. While a disk is slow, a `DiskQueue` makes those that may take long in the thread pool.
 */
export interface Disk {
  /** Creates a file, mode 0600; fails with EEXIST if the name is taken. */
  create(path: string): number
  /** Opens an existing regular file for reading and writing; does not follow a link. */
  open(path: string): number
  /** Opens an existing regular file for reading; does not follow a link. */
  openToRead(path: string): number
  /** Writes `bytes` from index `from` on, and returns the number of bytes written, which may be smaller. */
  write(file: number, bytes: Uint8Array, from: number, position: number): number
  /** Returns the number of bytes read; 0 at the end of the file. */
  read(file: number, into: Uint8Array, position: number): number
  size(file: number): number
  truncate(file: number, length: number): void
  /** On return, everything written to the file is durable. */
  sync(file: number): void
  close(file: number): void
  /** Optional: `close` does nothing with this file from now on. */
  keepOpen?(file: number): void
  rename(from: string, to: string): void
  /** Gives a file a second name; fails with EEXIST if the name is taken. */
  link(from: string, to: string): void
  unlink(path: string): void
  /** Creates a directory, mode 0700; fails with EEXIST if the name is taken. */
  makeDirectory(path: string): void
  list(directory: string): string[]
  /** On return, the directory's entries are durable. */
  syncDirectory(directory: string): void
}

const keptOpen = new Set<number>()

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
  close: (file) => {
    if (!keptOpen.has(file)) closeFile(file)
  },
  keepOpen: (file) => void keptOpen.add(file),
  rename: renameSync,
  link: linkSync,
  unlink: unlinkSync,
  makeDirectory: makePrivateDirectory,
  list: (directory) => readdirSync(directory),
  syncDirectory,
}

/** A new name is durable only after this. Some file systems refuse with EINVAL, and do not need it. */
function syncDirectory(path: string): void {
  using directory = closing(nodeDisk, openSync(path, 'r'))
  try {
    fsyncSync(directory.fd)
  } catch (error) {
    if (errorCode(error) !== 'EINVAL') throw error
  }
}

/**
 * Closes a file that was only read, was synced, or holds nothing that was acknowledged. An error of `close`
 * then says nothing about the data, and the file is closed in spite of it.
 */
function closeFile(fd: number): void {
  try {
    closeSync(fd)
  } catch (error) {
    if (errorCode(error) === 'EBADF') throw error
  }
}

/** Closes a file at the end of the block that uses it. */
export const closing = (disk: Disk, fd: number): Disposable & { readonly fd: number } => ({
  fd,
  [Symbol.dispose]: () => disk.close(fd),
})

/** Reads `length` bytes from `position` on; fewer only if the file ends before. */
export const readFully = (disk: Disk, file: number, position: number, length: number): Buffer =>
  runToEnd(readSteps(disk, file, position, length))

/** Reads like `readFully`, in steps. */
export function* readSteps(
  disk: Disk,
  file: number,
  position: number,
  length: number,
): Generator<void, Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  let done = 0
  while (done < length) {
    const got = disk.read(file, bytes.subarray(done, done + pieceBytes), position + done)
    if (got === 0) break
    done += got
    if (done < length) yield
  }
  return bytes.subarray(0, done)
}

/** The contents of a regular file; undefined if the path is missing or is not a regular file. */
export const readFile = (disk: Disk, path: string): Buffer | undefined => runToEnd(readFileSteps(disk, path))

/** Reads a file like `readFile`, in steps. */
export function* readFileSteps(disk: Disk, path: string): Generator<void, Buffer | undefined> {
  const fd = ifRegular(() => disk.openToRead(path))
  if (fd === undefined) return undefined
  using file = closing(disk, fd)
  return yield* readSteps(disk, file.fd, 0, disk.size(file.fd))
}

/** The names in a directory; none if the directory does not exist. */
export const listIfExists = (disk: Disk, directory: string): string[] =>
  ifExists(() => disk.list(directory)) ?? []

/** Creates a missing directory. Always syncs its name: another process may have died before its sync. */
export function* ensureDirectory(disk: Disk, directory: string): DiskSteps {
  makeIfMissing(disk, directory)
  yield { call: 'syncDirectory', path: dirname(directory) }
}

/** Creates a directory if it is missing; returns whether it did. */
export function makeIfMissing(disk: Disk, directory: string): boolean {
  const made = unless(['EEXIST'], () => {
    disk.makeDirectory(directory)
    return true
  })
  return made ?? false
}
