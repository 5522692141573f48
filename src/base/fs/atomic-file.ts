import { basename, dirname, join } from 'node:path'
import { closing, type Disk, nodeDisk, writeInPieces } from './disk.ts'
import { ulid } from '../text/id.ts'

/**
 * Replaces a file so that a reader, or a crash at any moment, finds either the old content or the new one,
 * complete: writes and syncs a temp file in the same directory, renames it, syncs the directory.
 */
export function replaceFile(path: string, content: string | Uint8Array, disk = nodeDisk): void {
  renameInto(
    path,
    (staged) => {
      const bytes = bytesOf(content)
      using file = closing(disk, disk.create(staged))
      for (let done = 0; done < bytes.length;) done += disk.write(file.fd, bytes, done, done)
      disk.sync(file.fd)
    },
    disk,
  )
  disk.syncDirectory(dirname(path))
}

/** Replaces a file like `replaceFile`. `beforeRename` may throw to leave the old file as it is. */
export async function replaceOnDisk(
  disk: Disk,
  path: string,
  content: string | Uint8Array,
  beforeRename?: () => void,
): Promise<void> {
  await replaceBy(disk, path, (put) => put(bytesOf(content)), beforeRename)
  await disk.syncDirectory(dirname(path))
}

/** Replaces a file by a rename. A power cut may undo it; without `isSynced`, it may leave a torn file. */
export const renameOnDisk = (
  disk: Disk,
  path: string,
  content: Uint8Array,
  isSynced: boolean,
): Promise<void> => replaceBy(disk, path, (put) => put(content), undefined, isSynced)

/** Supplies the content of a file: `put` writes the next piece. */
type Fill = (put: (bytes: Uint8Array) => Promise<void>) => Promise<void>

/** Replaces a file with content that `fill` supplies in pieces. A power cut may undo the rename. */
export async function replaceBy(
  disk: Disk,
  path: string,
  fill: Fill,
  beforeRename?: () => void,
  isSynced = true,
): Promise<void> {
  const staged = stagedPath(path)
  try {
    await fillStaged(disk, staged, fill, isSynced)
    beforeRename?.()
    await disk.rename(staged, path)
  } catch (error) {
    // An error here would hide the original one. The file stays behind, and `isStaged` knows its name.
    await Promise.resolve()
      .then(() => disk.unlink(staged))
      .catch(() => {})
    throw error
  }
}

/** Has `make` write a temp file in the same directory, and renames it to `path`; removes it on failure. */
export function renameInto(path: string, make: (staged: string) => void, disk = nodeDisk): void {
  const staged = stagedPath(path)
  try {
    make(staged)
    disk.rename(staged, path)
  } catch (error) {
    removeStaged(staged, disk)
    throw error
  }
}

/** Like `renameInto`, but fails with `EEXIST` if another process has made a file of that name meanwhile. */
export function linkInto(path: string, make: (staged: string) => void, disk = nodeDisk): void {
  const staged = stagedPath(path)
  try {
    make(staged)
    disk.link(staged, path)
  } finally {
    removeStaged(staged, disk)
  }
}

/** An error here would hide the original one. */
function removeStaged(staged: string, disk: typeof nodeDisk): void {
  try {
    disk.unlink(staged)
  } catch {
    // The file stays behind, and `isStaged` knows its name.
  }
}

const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? Buffer.from(content) : content

/** Is this the temp file of a replacement, left behind by a crash? Takes a path or a file name. */
export const isStaged = (path: string): boolean => /^\.\d+-[0-9A-HJKMNP-TV-Z]{26}\.tmp$/.test(basename(path))

const stagedPath = (path: string): string => join(dirname(path), `.${process.pid}-${ulid()}.tmp`)

async function fillStaged(disk: Disk, staged: string, fill: Fill, isSynced: boolean): Promise<void> {
  using file = closing(disk, await disk.create(staged))
  let at = 0
  await fill(async (bytes) => {
    await writeInPieces(disk, file.fd, bytes, at)
    at += bytes.length
  })
  if (isSynced) await disk.sync(file.fd)
}
