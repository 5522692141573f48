import { mountsBeneath } from '../base/fs/mounts.ts'
import {
  nothingRemoved,
  type Removal,
  type RemovalFailure,
  type RemovalOptions,
  removeTree,
} from '../base/fs/remove-tree.ts'

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
