import { lstatSync, renameSync, rmdirSync, unlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { openDirectory } from '../base/fs/open-directory.ts'
import { exists } from '../base/fs/exists.ts'
import { mountsBeneath } from '../base/fs/mounts.ts'
import {
  nothingRemoved,
  type Removal,
  type RemovalFailure,
  type RemovalOptions,
  removalSteps,
  removeTree,
} from '../base/fs/remove-tree.ts'
import { runToEnd } from '../base/process/run-generator.ts'
import { errorCode } from '../base/errors/stint-error.ts'
import { metaDirectory, ownerFile } from './owner.ts'
import { ensureScratchDirectory, type ScratchRoot } from './root.ts'

/** Removes an entry of the root by way of `trash/` (or from it): from the rename on, nobody sees it any more. */
export const removeViaTrash = (root: ScratchRoot, path: string, options: RemovalOptions = {}): Removal =>
  runToEnd(removeViaTrashSteps(root, path, options))

/** The same, giving way every now and then. */
export function* removeViaTrashSteps(
  root: Pick<ScratchRoot, 'trash'>,
  path: string,
  options: RemovalOptions,
): Generator<void, Removal> {
  const moved = moveToTrash(root, path)
  if (typeof moved === 'string') return yield* removalSteps(moved, options)
  // It cannot be moved (it is immutable, say): what is in it goes where it is, as far as that is possible.
  if (moved.failures.some(({ error }) => error === 'EPERM')) return yield* removalSteps(path, options)
  return { removed: 0, bytes: 0, complete: true, ...moved }
}

/**
 * The short way for a scratch with nothing in it but its owner record, which most are at the end; false if it is not such a one.
 * No other directory beneath means no mount point, and `.stint` must still be the one that was made (`metaInode`).
 */
export function removeBareScratch(root: ScratchRoot, path: string, metaInode: number): boolean {
  try {
    if (lstatSync(path).nlink !== 3) return false
    const trashed = join(root.trash, basename(path))
    const meta = openDirectory(join(path, metaDirectory))
    try {
      if (meta.ino !== metaInode) return false
      renameSync(path, trashed)
      unlinkSync(`${meta.base}/${ownerFile}`)
    } finally {
      meta.close()
    }
    rmdirSync(join(trashed, metaDirectory))
    rmdirSync(trashed)
    return true
  } catch {
    return false
  }
}

/** The new path, or why it stays: a mount point beneath, or no permission. */
export function moveToTrash(
  root: Pick<ScratchRoot, 'trash'>,
  path: string,
): string | Pick<Removal, 'failures'> {
  const free = unlessMounted(path)
  if (typeof free !== 'string' || dirname(path) === root.trash) return free
  // Names carry a request id, so they are unique for good; of two movers, one finds it gone.
  const trashed = join(root.trash, basename(path))
  for (let retried = false; ; retried = true) {
    try {
      renameSync(path, trashed)
      return trashed
    } catch (error) {
      if (!exists(path)) return exists(trashed) ? unlessMounted(trashed) : { failures: [] }
      if (!retried && repair(root, path, errorCode(error))) continue
      return { failures: [{ path, type: 'directory', error: errorCode(error) ?? String(error) }] }
    }
  }
}

function unlessMounted(path: string): string | Pick<Removal, 'failures'> {
  const failure = mountFailure(path)
  return failure === undefined ? path : { failures: [failure] }
}

/** What a program can do that stands in the way: remove the trash, or close its scratch (to move it, it must be writable). */
function repair(root: Pick<ScratchRoot, 'trash'>, path: string, errno: string | undefined): boolean {
  try {
    if (errno === 'ENOENT') {
      ensureScratchDirectory(root.trash)
      return true
    }
    if (errno !== 'EACCES') return false
    const directory = openDirectory(path)
    try {
      return directory.makeWritable()
    } finally {
      directory.close()
    }
  } catch {
    return false
  }
}

/** The failure to report if something is mounted on a path or beneath it: a recursive delete would go through the mount. */
export function mountFailure(path: string): RemovalFailure | undefined {
  const [mount] = mountsBeneath(path)
  return mount === undefined ? undefined : { path: mount, type: 'directory', error: 'MOUNT_POINT' }
}

/** Removes what is there, unless something is mounted beneath it. */
export function removeUnlessMounted(path: string, options: RemovalOptions): Removal {
  const failure = mountFailure(path)
  return failure === undefined ? removeTree(path, options) : { ...nothingRemoved(), failures: [failure] }
}
