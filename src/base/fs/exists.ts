import { lstatSync, opendirSync, readdirSync, type Stats, statSync } from 'node:fs'
import { ifPossible } from '../errors/if-possible.ts'
import { errorCode } from '../errors/stint-error.ts'

/** Runs a file-system call; undefined if it fails with ENOENT. */
export const ifExists = <Result>(call: () => Result): Result | undefined => unless(['ENOENT'], call)

/** `lstat` of a path; undefined if it does not exist, also because a file stands where a directory should. */
export const lstatIfExists = (path: string): Stats | undefined =>
  unless(['ENOTDIR'], () => lstatSync(path, { throwIfNoEntry: false }))

/** `stat` of a path, following links; undefined if it does not exist, as in `lstatIfExists`. */
export const statIfExists = (path: string): Stats | undefined =>
  unless(['ENOTDIR'], () => statSync(path, { throwIfNoEntry: false }))

/** The names in a directory; none if it does not exist, or if this user may not list it. */
export const listIfReadable = (directory: string): string[] =>
  unless(['ENOENT', 'ENOTDIR', 'EACCES'], () => readdirSync(directory)) ?? []

/** Runs a call; undefined if it fails with one of these codes. */
export function unless<Result>(codes: readonly string[], call: () => Result): Result | undefined {
  try {
    return call()
  } catch (error) {
    if (codes.includes(errorCode(error) ?? '')) return undefined
    throw error
  }
}

/** Does this name exist? Does not follow a link; a path that cannot be examined counts as existing. */
export function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    return errorCode(error) !== 'ENOTDIR'
  }
}

/** Is this a directory, and not a link to one? */
export const isRealDirectory = (path: string | Buffer): boolean =>
  ifPossible(() => lstatSync(path).isDirectory()) ?? false

/** Has this directory any entries? A missing directory counts as empty, an unreadable one as not empty. */
export function hasEntries(directory: string): boolean {
  try {
    // Reading all names of a large directory takes milliseconds.
    const handle = opendirSync(directory, { bufferSize: 1 })
    try {
      return handle.readSync() !== null
    } finally {
      handle.closeSync()
    }
  } catch (error) {
    return errorCode(error) !== 'ENOENT'
  }
}
