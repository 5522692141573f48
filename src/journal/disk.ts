import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  writeSync,
} from 'node:fs'
import { syncDirectory } from '../primitives/atomic-file.ts'
import { openPrivateFile } from '../primitives/private-file.ts'

/**
 * What a journal asks of a disk, call by call, so that the test suite can put one in its place that crashes, tears and lies. All of it is
 * synchronous: a commit that gives way twice is slower than the disk.
 */
export interface Disk {
  /** A new file, 0600; fails with EEXIST if there is one. */
  create(path: string): number
  /** An existing file, to read and write. A link is not followed. */
  open(path: string): number
  /** May write less than it was given, and returns how much. */
  write(file: number, bytes: Uint8Array, from: number, position: number): number
  /** Returns how much was read; 0 at the end. */
  read(file: number, into: Uint8Array, position: number): number
  size(file: number): number
  truncate(file: number, length: number): void
  /** On return, everything written to the file is on the disk. */
  sync(file: number): void
  close(file: number): void
  list(directory: string): string[]
  /** On return, the names in the directory are on the disk. */
  syncDirectory(directory: string): void
}

const openFlags = constants.O_RDWR | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

export const nodeDisk: Disk = {
  create: (path) => openPrivateFile(path, 'wx'),
  open: (path) => openSync(path, openFlags),
  write: (file, bytes, from, position) => writeSync(file, bytes, from, bytes.length - from, position),
  read: (file, into, position) => readSync(file, into, 0, into.length, position),
  size: (file) => fstatSync(file).size,
  truncate: ftruncateSync,
  sync: fdatasyncSync,
  close: closeSync,
  list: (directory) => readdirSync(directory),
  syncDirectory,
}
