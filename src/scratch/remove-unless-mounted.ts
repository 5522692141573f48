import { mountsBeneath } from '../primitives/mounts.ts'
import { nothingRemoved, removeTree, type Removal, type RemovalOptions } from '../primitives/remove-tree.ts'

/** Removes what is there, unless something is mounted beneath it: a recursive delete would go through. */
export function removeUnlessMounted(path: string, options: RemovalOptions): Removal {
  const [mount] = mountsBeneath(path)
  if (mount === undefined) return removeTree(path, options)
  return { ...nothingRemoved(), failures: [{ path: mount, type: 'directory', error: 'MOUNT_POINT' }] }
}
