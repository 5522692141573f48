import { basename, dirname, join } from 'node:path'
import { type Disk, nodeDisk, writeFully } from './disk.ts'
import { ulid } from '../text/id.ts'
import { errorCode } from '../errors/stint-error.ts'

/**
 * Replaces a file so that a reader, or a crash at any moment, finds the old content or the new one, whole:
 * temp file in the same directory, write, sync, rename, sync the directory.
 */
export function replaceFile(path: string, content: string | Uint8Array, disk: Disk = nodeDisk): void {
  replaceFileBy(path, (put) => put(typeof content === 'string' ? Buffer.from(content) : content), disk)
}

/** The same for a content that comes in pieces, and need never be in memory as a whole. */
export function replaceFileBy(path: string, write: Fill, disk: Disk = nodeDisk): void {
  renameInto(path, (staged) => fillStaged(staged, write, disk), disk)
  disk.syncDirectory(dirname(path))
}

/** Has `make` write a file in the same directory, then renames it to `path`. If either fails, the file is removed. */
export function renameInto(path: string, make: (staged: string) => void, disk: Disk = nodeDisk): void {
  const staged = stagedPath(path)
  try {
    make(staged)
    disk.rename(staged, path)
  } catch (error) {
    discardStaged(disk, staged)
    throw error
  }
}

type Fill = (put: (bytes: Uint8Array) => void) => void

/**
 * Publishes a file that must not exist yet, whole: `link` fails if the name is taken, so of any number of
 * concurrent publishers exactly one gets `true`.
 */
export function publishFile(path: string, content: string | Uint8Array, disk: Disk = nodeDisk): boolean {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const staged = stagedPath(path)
  try {
    fillStaged(staged, (put) => put(bytes), disk)
    disk.link(staged, path)
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  } finally {
    discardStaged(disk, staged)
  }
  disk.syncDirectory(dirname(path))
  return true
}

/** What a crash leaves of a file that was being written; `path` is its whole path or its name. */
export const isStaged = (path: string): boolean => /^\.\d+-[0-9A-HJKMNP-TV-Z]{26}\.tmp$/.test(basename(path))

const stagedPath = (path: string): string => join(dirname(path), `.${process.pid}-${ulid()}.tmp`)

function fillStaged(staged: string, fill: Fill, disk: Disk): void {
  const file = disk.create(staged)
  try {
    let at = 0
    fill((bytes) => {
      writeFully(disk, file, bytes, at)
      at += bytes.length
    })
    disk.sync(file)
  } finally {
    disk.close(file)
  }
}

/** Never throws: a failure here must not hide the error that led here, nor make a published file look unpublished. */
function discardStaged(disk: Disk, staged: string): void {
  try {
    disk.unlink(staged)
  } catch {
    // It stays, known by its name as something unfinished.
  }
}
