import { statSync } from 'node:fs'
import { dirname } from 'node:path'

/** An absolute path and all that is above it, from the top down. */
export function pathAncestors(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [path] : [...pathAncestors(parent), path]
}

/** The first on the way to a path that is there and is no directory. */
export const noDirectoryOnWayTo = (path: string): string | undefined =>
  pathAncestors(path).find(isSomethingElse)

function isSomethingElse(path: string): boolean {
  try {
    return !statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** What does not let us go on: the directory on the way to a path that hides the rest of it, or else the last that is there. */
export function closedOnWayTo(path: string): string {
  const [top = path, ...below] = pathAncestors(path)
  let last = top
  for (const each of below) {
    if (!canBeSeen(each)) break
    last = each
  }
  return last
}

function canBeSeen(path: string): boolean {
  try {
    statSync(path)
    return true
  } catch {
    return false
  }
}
