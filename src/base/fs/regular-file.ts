import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { ifPossible } from '../errors/if-possible.ts'
import { unless } from './exists.ts'

/**
 * Flags for opening a path that another user may have planted: a link is not followed, and opening a FIFO
 * does not block until its other end is opened.
 */
export const safeOpenFlags = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Error codes of opening a path that is missing or not a regular file. Other errors may be temporary. */
const notRegularCodes = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EISDIR']

/** Opens or reads a path; undefined if there is no regular file. */
export const ifRegular = <Result>(open: () => Result): Result | undefined => unless(notRegularCodes, open)

/** Opens a regular file; for anything else, throws one of `notRegularCodes`. The caller closes it. */
export function openRegular(
  path: string | Buffer,
  flags: number = constants.O_RDONLY,
): { fd: number; size: number } {
  const fd = openSync(path, flags | safeOpenFlags)
  const stat = fstatSync(fd)
  if (stat.isFile()) return { fd, size: stat.size }
  closeSync(fd)
  throw Object.assign(new Error(`${path} is not a regular file`), { code: 'EISDIR', path })
}

const maxSmallBytes = 1 << 20

/**
 * The contents of a small regular file; undefined for anything else: missing, a link, a FIFO, over 1 MiB.
 * Another error (no permission, no descriptor left) throws only with `throwOnError`.
 */
export function readSmallFile(path: string | Buffer, onError?: 'throwOnError'): string | undefined {
  const read = (): string | undefined => {
    const { fd, size } = openRegular(path)
    try {
      return size > maxSmallBytes ? undefined : readFrom(fd, 0, size)
    } finally {
      closeSync(fd)
    }
  }
  return onError === 'throwOnError' ? ifRegular(read) : ifPossible(read)
}

/**
 * The complete lines in the last `maxBytes` of a file that other processes append to; a line cut off at
 * either end is left out. Empty if there is no regular file; a file that cannot be read throws only with
 * `throwOnError`.
 */
export function readLastLines(path: string, maxBytes = 64 << 20, onError?: 'throwOnError'): string[] {
  const read = (): string[] => {
    const { fd, size } = openRegular(path)
    try {
      // One byte more: if it is a line break, the line after it is complete.
      const start = Math.max(0, size - maxBytes - 1)
      return completeLines(readFrom(fd, start, size - start), start > 0)
    } finally {
      closeSync(fd)
    }
  }
  return (onError === 'throwOnError' ? ifRegular(read) : ifPossible(read)) ?? []
}

/** The lines of a text that end with a line break; of a text that is cut, without the first one. */
const completeLines = (text: string, isCut: boolean): string[] => text.split('\n').slice(isCut ? 1 : 0, -1)

function readFrom(fd: number, start: number, length: number): string {
  const bytes = Buffer.allocUnsafe(length)
  return bytes.toString('utf8', 0, readSync(fd, bytes, 0, length, start))
}
