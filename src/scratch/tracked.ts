import { lstatSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import { appendPrivateFile } from '../primitives/private-file.ts'
import { readSmallFile } from '../primitives/small-file.ts'
import { StintError } from '../primitives/stint-error.ts'
import { metaDirectory } from './owner.ts'

/**
 * A path outside the scratch that must go with it. What stood there is remembered by inode and birth time, so
 * that a sweep, perhaps days later, never deletes what somebody else has put there since.
 */
export interface TrackedPath {
  path: string
  /** Null if nothing was there yet: then only its own run removes it, never a sweep. */
  file: { dev: number; ino: number; born: number } | null
}

const trackedPath = (scratch: string): string => join(scratch, metaDirectory, 'tracked.log')

export function recordTracked(scratch: string, path: string): TrackedPath {
  const absolute = resolve(path)
  if (path === '' || path.includes('\0') || isTooMuch(absolute, scratch)) {
    throw new StintError(
      'NAME_INVALID',
      `refusing to track ${JSON.stringify(path)}: too much would be deleted`,
    )
  }
  const tracked: TrackedPath = { path: absolute, file: fingerprint(absolute) }
  appendPrivateFile(trackedPath(scratch), `${JSON.stringify(tracked)}\n`)
  return tracked
}

/** Tracked paths that still hold what was there when they were tracked: what a sweep may delete. */
export function readTracked(scratch: string): string[] {
  const lines = (readSmallFile(trackedPath(scratch)) ?? '').split('\n').slice(0, -1)
  return lines.flatMap((line) => {
    const tracked = parseTracked(line)
    if (!tracked?.file || isTooMuch(resolve(tracked.path), scratch)) return []
    const now = fingerprint(tracked.path)
    const same =
      now?.dev === tracked.file.dev && now.ino === tracked.file.ino && now.born === tracked.file.born
    return same ? [tracked.path] : []
  })
}

function parseTracked(line: string): TrackedPath | undefined {
  try {
    const value = JSON.parse(line) as TrackedPath
    return typeof value.path === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

function fingerprint(path: string): TrackedPath['file'] {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat === undefined ? null : { dev: stat.dev, ino: stat.ino, born: stat.birthtimeMs }
}

/** Asked again before a sweep deletes: the program of the run can write to this record, too. */
const isTooMuch = (absolute: string, scratch: string): boolean =>
  isAncestorOf(absolute, homedir()) || isAncestorOf(absolute, scratch)

const isAncestorOf = (path: string, other: string): boolean =>
  `${other}${sep}`.startsWith(path.endsWith(sep) ? path : `${path}${sep}`)
