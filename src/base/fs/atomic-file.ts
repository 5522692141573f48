import { basename, dirname, join } from 'node:path'
import { closing, type Disk, nodeDisk } from './disk.ts'
import { type DiskSteps, runNow, writeSteps } from './disk-steps.ts'
import { ulid } from '../text/id.ts'

/**
 * Replaces a file so that a reader, or a crash at any moment, finds either the old content or the new one,
 * complete: writes and syncs a temp file in the same directory, renames it, syncs the directory.
 */
export function replaceFile(path: string, content: string | Uint8Array, disk: Disk = nodeDisk): void {
  runNow(disk, replaceFileSteps(path, content, disk))
}

/** Replaces a file like `replaceFile`, in steps. `beforeRename` may throw to leave the old file as it is. */
export function* replaceFileSteps(
  path: string,
  content: string | Uint8Array,
  disk: Disk,
  beforeRename?: () => void,
): DiskSteps {
  yield* replaceFileBy(path, (put) => put(bytesOf(content)), disk, beforeRename)
}

/** Replaces a file like `replaceFile`, in steps, with content that `fill` supplies in pieces. */
export function* replaceFileBy(path: string, fill: Fill, disk: Disk, beforeRename?: () => void): DiskSteps {
  yield* replaceUnsynced(path, fill, disk, beforeRename)
  yield { call: 'syncDirectory', path: dirname(path) }
}

/** Replaces a file like `replaceFileBy`, without syncing its name: a power cut may undo that. */
export function* replaceUnsynced(path: string, fill: Fill, disk: Disk, beforeRename?: () => void): DiskSteps {
  const staged = stagedPath(path)
  try {
    yield* fillStaged(staged, fill, disk)
    beforeRename?.()
    disk.rename(staged, path)
  } catch (error) {
    discard(disk, staged)
    throw error
  }
}

/** Has `make` write a temp file in the same directory, and renames it to `path`; removes it on failure. */
export function renameInto(path: string, make: (staged: string) => void, disk: Disk = nodeDisk): void {
  const staged = stagedPath(path)
  try {
    make(staged)
    disk.rename(staged, path)
  } catch (error) {
    discard(disk, staged)
    throw error
  }
}

/** Supplies the content of a file: `put` writes the next piece. */
export type Fill = (put: (bytes: Uint8Array) => DiskSteps) => DiskSteps

const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? Buffer.from(content) : content

/** Is this the temp file of a replacement, left behind by a crash? Takes a path or a file name. */
export const isStaged = (path: string): boolean => /^\.\d+-[0-9A-HJKMNP-TV-Z]{26}\.tmp$/.test(basename(path))

const stagedPath = (path: string): string => join(dirname(path), `.${process.pid}-${ulid()}.tmp`)

function* fillStaged(staged: string, fill: Fill, disk: Disk): DiskSteps {
  using file = closing(disk, disk.create(staged))
  let at = 0
  yield* fill(function* (bytes) {
    yield* writeSteps(file.fd, bytes, at)
    at += bytes.length
  })
  yield { call: 'sync', file: file.fd }
}

/** Never throws: that would hide the original error. */
function discard(disk: Disk, path: string): void {
  try {
    disk.unlink(path)
  } catch {
    // It stays behind; `isStaged` recognizes a temp file by its name.
  }
}
