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
import { ifExists } from './exists.ts'
import { errorCode } from '../errors/stint-error.ts'
import { giveWay } from '../process/event-loop.ts'

/** A value, or a promise of it: `await` takes both. */
export type Later<Value = void> = Value | Promise<Value>

/**
 * The file-system calls of a session store, so that tests can replace the disk. Files are named by numbers.
 * Await every call that changes the disk: on a slow disk it runs in the thread pool.
 */
export interface Disk {
  /** Creates a file, mode 0600; fails with EEXIST if the name is taken. */
  create(path: string): Later<number>
  /** Opens an existing regular file for reading and writing; does not follow a link. */
  open(path: string): number
  /** Opens an existing regular file for reading; does not follow a link. */
  openToRead(path: string): number
  /** Writes `bytes` from index `from` on, and returns the number of bytes written, which may be smaller. */
  write(file: number, bytes: Uint8Array, from: number, position: number): Later<number>
  /** Returns the number of bytes read; 0 at the end of the file. */
  read(file: number, into: Uint8Array, position: number): number
  size(file: number): number
  truncate(file: number, length: number): Later
  /** When it is done, everything written to the file is durable. */
  sync(file: number): Later
  close(file: number): void
  rename(from: string, to: string): Later
  /** Gives a file a second name; fails with EEXIST if the name is taken. */
  link(from: string, to: string): Later
  unlink(path: string): Later
  /** Creates a directory, mode 0700; fails with EEXIST if the name is taken. */
  makeDirectory(path: string): Later
  list(directory: string): string[]
  /** When it is done, the directory's entries are durable. */
  syncDirectory(directory: string): Later
}

/** The disk of this machine. Its calls return when they are done. */
export const nodeDisk = {
  create: (path: string) => openPrivateFile(path, 'wx'),
  open: (path: string) => openRegular(path, constants.O_RDWR).fd,
  openToRead: (path: string) => openRegular(path).fd,
  write: (file: number, bytes: Uint8Array, from: number, position: number) =>
    writeSync(file, bytes, from, bytes.length - from, position),
  read: (file: number, into: Uint8Array, position: number) => readSync(file, into, 0, into.length, position),
  size: (file: number) => fstatSync(file).size,
  truncate: ftruncateSync,
  sync: fdatasyncSync,
  close: closeFile,
  rename: renameSync,
  link: linkSync,
  unlink: unlinkSync,
  makeDirectory: makePrivateDirectory,
  list: (directory: string) => readdirSync(directory),
  syncDirectory,
} satisfies Disk

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
export const closing = (disk: Pick<Disk, 'close'>, fd: number): Disposable & { readonly fd: number } => ({
  fd,
  [Symbol.dispose]: () => disk.close(fd),
})

/** How much is written, read or hashed in one piece: more may keep the event loop for milliseconds. */
export const pieceBytes = 256 << 10

/** Writes all bytes from `position` on, in pieces; a disk may take fewer bytes than it was given. */
export async function writeInPieces(
  disk: Disk,
  file: number,
  bytes: Uint8Array,
  position: number,
): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    if (done > 0) await giveWay()
    const piece = bytes.length <= pieceBytes ? bytes : bytes.subarray(0, done + pieceBytes)
    const written = await disk.write(file, piece, done, position + done)
    if (written === 0) throw Object.assign(new Error('the disk takes no more'), { code: 'ENOSPC' })
    done += written
  }
}

/** Reads `length` bytes from `position` on; fewer only if the file ends before. */
export async function readFully(disk: Disk, file: number, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  let done = 0
  while (done < length) {
    const got = disk.read(file, bytes.subarray(done, done + pieceBytes), position + done)
    if (got === 0) break
    done += got
    if (done < length) await giveWay()
  }
  return bytes.subarray(0, done)
}

/** The contents of a small regular file; undefined if the path is missing or is not a regular file. */
export function readFile(disk: Disk, path: string): Buffer | undefined {
  const fd = ifRegular(() => disk.openToRead(path))
  if (fd === undefined) return undefined
  using file = closing(disk, fd)
  const bytes = Buffer.allocUnsafe(disk.size(file.fd))
  let done = 0
  for (let got = -1; done < bytes.length && got !== 0; done += got)
    got = disk.read(file.fd, bytes.subarray(done), done)
  return bytes.subarray(0, done)
}

/** The names in a directory; none if the directory does not exist. */
export const listIfExists = (disk: Pick<Disk, 'list'>, directory: string): string[] =>
  ifExists(() => disk.list(directory)) ?? []

/** Creates a missing directory. Always syncs its name: another process may have died before its sync. */
export async function ensureDirectory(disk: Disk, directory: string): Promise<void> {
  await makeIfMissing(disk, directory)
  await disk.syncDirectory(dirname(directory))
}

/** Creates a directory if it is missing; returns whether it did. */
export async function makeIfMissing(disk: Disk, directory: string): Promise<boolean> {
  try {
    await disk.makeDirectory(directory)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}
