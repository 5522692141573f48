import { lstatSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ulid } from '../../base/text/id.ts'
import { ownDirectoryProblem } from '../../base/fs/own-directory.ts'
import { makePrivateDirectory } from '../../base/fs/private-file.ts'
import { removeTree } from '../../base/fs/remove-tree.ts'
import { lstatIfExists } from '../../base/fs/exists.ts'

const prefix = '.stint-doctor-'
/** No trial takes this long: what is older was left by one that was killed. */
const abandonedMs = 60_000

/** A directory to try things in, gone afterwards, however that ends. */
export async function inTrialDirectory<Result>(
  parent: string,
  act: (directory: string) => Promise<Result>,
): Promise<Result> {
  removeAbandoned(parent)
  const directory = join(parent, `${prefix}${ulid()}`)
  makePrivateDirectory(directory)
  const remove = (): void => void removeTree(directory)
  process.once('exit', remove)
  try {
    return await act(directory)
  } finally {
    process.off('exit', remove)
    remove()
  }
}

function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent).filter((each) => each.startsWith(prefix))) {
    const path = join(parent, name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined || ownDirectoryProblem(stat) !== undefined) continue
    if (Date.now() - stat.mtimeMs > abandonedMs) removeTree(path, { inode: stat.ino })
  }
}

/** The directory itself, or the nearest one above it. */
export function nearestDirectory(path: string): string {
  const isThere = lstatIfExists(path)?.isDirectory() ?? false
  return isThere || dirname(path) === path ? path : nearestDirectory(dirname(path))
}
