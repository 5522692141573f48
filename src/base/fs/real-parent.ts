import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * Where an absolute path leads: the real path of the directory it is in, as far as that is there, and its own name in it. A link at the end is not followed:
 * the place is the link's.
 */
export function realParentPath(absolute: string): string {
  const [parent, name] = [dirname(absolute), basename(absolute)]
  if (parent === absolute) return absolute
  try {
    return join(realpathSync.native(parent), name)
  } catch {
    return join(realParentPath(parent), name)
  }
}
