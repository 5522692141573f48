import { renameSync, unlinkSync } from 'node:fs'
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
import { runToEnd } from '../base/process/event-loop.ts'
import { ifPossible } from '../base/errors/if-possible.ts'
import { errorCode } from '../base/errors/stint-error.ts'
import { isRequestId } from '../base/text/id.ts'
import { ownerSuffix } from './owner.ts'
import { ensureScratchDirectory, type ScratchRoot } from './root.ts'

/** Moves an entry of the root to `trash/`, unless it is there already, and removes it there. */
export const removeViaTrash = (root: ScratchRoot, path: string, options: RemovalOptions = {}): Removal =>
  runToEnd(removeViaTrashSteps(root, path, options))

/** Like `removeViaTrash`, but yields so that the caller can pause. */
export function* removeViaTrashSteps(
  root: Pick<ScratchRoot, 'trash'>,
  path: string,
  options: RemovalOptions,
): Generator<void, Removal> {
  const moved = moveToTrash(root, path)
  if (typeof moved === 'string') return yield* removalSteps(moved, options)
  // EPERM: the entry is immutable, for example. Remove as much of its contents as possible in place.
  if (moved.failures.some(({ error }) => error === 'EPERM')) return yield* removalSteps(path, options)
  return { ...nothingRemoved(), ...moved }
}

/**
 * Moves an entry to the trash, and forgets the owner of a scratch. Returns its new path, or the failure: a
 * mount beneath, or no permission.
 */
export function moveToTrash(
  root: Pick<ScratchRoot, 'trash'>,
  path: string,
): string | Pick<Removal, 'failures'> {
  const free = unlessMounted(path)
  if (typeof free !== 'string' || dirname(path) === root.trash) return free
  // Names contain a request id, so they are unique: if two processes move an entry, one finds it gone.
  const trashed = join(root.trash, basename(path))
  for (let retried = false; ; retried = true) {
    try {
      renameSync(path, trashed)
      forgetOwner(path)
      return trashed
    } catch (error) {
      if (!exists(path)) {
        forgetOwner(path)
        return exists(trashed) ? unlessMounted(trashed) : { failures: [] }
      }
      if (!retried && repair(root, path, errorCode(error))) continue
      return { failures: [{ path, type: 'directory', error: errorCode(error) ?? String(error) }] }
    }
  }
}

/** Removes the owner record. One that stays is removed by a sweep, when its process is dead. */
export const removeOwner = (scratch: string): void => ifPossible(() => unlinkSync(`${scratch}${ownerSuffix}`))

/** Removes the owner of a scratch that is no longer where it was. */
function forgetOwner(path: string): void {
  if (isRequestId(basename(path))) removeOwner(path)
}

function unlessMounted(path: string): string | Pick<Removal, 'failures'> {
  const failure = mountFailure(path)
  return failure === undefined ? path : { failures: [failure] }
}

/** Undoes what a program can do to prevent the move: remove the trash, or make its scratch read-only. */
function repair(root: Pick<ScratchRoot, 'trash'>, path: string, errno: string | undefined): boolean {
  try {
    if (errno === 'ENOENT') {
      ensureScratchDirectory(root.trash)
      return true
    }
    if (errno !== 'EACCES') return false
    using directory = openDirectory(path)
    return directory.makeWritable()
  } catch {
    return false
  }
}

/** The failure for a mount on a path or beneath it, which a recursive delete would go through. */
export function mountFailure(path: string): RemovalFailure | undefined {
  const [mount] = mountsBeneath(path)
  return mount === undefined ? undefined : { path: mount, type: 'directory', error: 'MOUNT_POINT' }
}

/** Removes a path, unless something is mounted on it or beneath it. */
export function removeUnlessMounted(path: string, options: RemovalOptions): Removal {
  const failure = mountFailure(path)
  return failure === undefined ? removeTree(path, options) : { ...nothingRemoved(), failures: [failure] }
}
