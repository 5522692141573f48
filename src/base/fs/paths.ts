import { realpathSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { ifPossible } from '../errors/if-possible.ts'

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
  return join(ifPossible(() => realpathSync.native(parent)) ?? realParentPath(parent), name)
}

/** An absolute path and all its parent directories, from the root down. */
export function pathAncestors(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [path] : [...pathAncestors(parent), path]
}

/** The first of a path's ancestors, or the path itself, that exists and is not a directory. */
export const nonDirectoryOn = (path: string): string | undefined =>
  pathAncestors(path).find((ancestor) => statOf(ancestor)?.isDirectory() === false)

/** The deepest ancestor that can be examined: below it, nothing exists or permission is missing. */
export function lastVisibleOn(path: string): string {
  const [top = path, ...below] = pathAncestors(path)
  let last = top
  for (const ancestor of below) {
    if (statOf(ancestor) === undefined) break
    last = ancestor
  }
  return last
}

const statOf = (path: string): Stats | undefined => ifPossible(() => statSync(path))

// File names are bytes, not always valid UTF-8. A Latin-1 string keeps every byte, as one character each.
const isAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)

/** Converts a Latin-1 path to a form that `node:fs` passes to the kernel byte for byte. */
export const bytePath = (latin1: string): string | Buffer =>
  isAscii(latin1) ? latin1 : Buffer.from(latin1, 'latin1')

/** Converts a UTF-8 path to Latin-1, one character a byte. */
export const latin1Of = (path: string): string =>
  isAscii(path) ? path : Buffer.from(path).toString('latin1')

/** Converts a Latin-1 path to UTF-8, for people to read. */
export const utf8Of = (latin1: string): string =>
  isAscii(latin1) ? latin1 : Buffer.from(latin1, 'latin1').toString()
