import { renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { mountsBeneath } from '../primitives/mounts.ts'
import { removeTree, type Removal, type RemovalOptions } from '../primitives/remove-tree.ts'
import { errnoOf } from '../primitives/stint-error.ts'
import type { ScratchRoot } from './root.ts'

/** Removes an entry of the root by way of `trash/` (or from it): from the rename on, nobody sees it any more. */
export function discard(root: ScratchRoot, path: string, options: RemovalOptions = {}): Removal {
  const moved = moveToTrash(root, path)
  if (typeof moved === 'string') return removeTree(moved, options)
  return { removed: 0, bytes: 0, complete: true, ...moved }
}

/** The new path, or why it stays: a mount point beneath, or no permission. */
export function moveToTrash(root: ScratchRoot, path: string): string | Pick<Removal, 'failures'> {
  const [mount] = mountsBeneath(path)
  if (mount !== undefined) return { failures: [{ path: mount, type: 'directory', error: 'MOUNT_POINT' }] }
  if (dirname(path) === root.trash) return path
  // Names carry a request id, so they are unique for good; of two movers, one finds it gone.
  const trashed = join(root.trash, basename(path))
  try {
    renameSync(path, trashed)
    return trashed
  } catch (error) {
    const errno = errnoOf(error) ?? String(error)
    return { failures: errno === 'ENOENT' ? [] : [{ path, type: 'directory', error: errno }] }
  }
}
