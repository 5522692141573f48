import { realpathSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'

/** Is this absolute path equal to `outer`, or below it? Compares names only: no link is followed. */
export const isWithin = (path: string, outer: string): boolean =>
  path === outer || path.startsWith(outer.endsWith(sep) ? outer : `${outer}${sep}`)

/**
 * The real path of an absolute path's parent directory, as far as that exists, with the path's own name
 * appended. A link at the end is not followed: the result names the link itself.
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

/** An absolute path and all its parent directories, from the root down. */
export function pathAncestors(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [path] : [...pathAncestors(parent), path]
}

/** The first of a path's ancestors, or the path itself, that exists and is not a directory. */
export const nonDirectoryOn = (path: string): string | undefined =>
  pathAncestors(path).find((each) => statOf(each)?.isDirectory() === false)

/** The deepest ancestor that can be examined: below it, nothing exists or permission is missing. */
export function lastVisibleOn(path: string): string {
  const [top = path, ...below] = pathAncestors(path)
  let last = top
  for (const each of below) {
    if (statOf(each) === undefined) break
    last = each
  }
  return last
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}
