import { chmodSync, lstatSync, mkdirSync, type Stats } from 'node:fs'
import { errorCode } from '../errors/stint-error.ts'
import { geteuid } from '../process/platform.ts'

/** Creates a private directory, or checks an existing one with lstat; returns its problem, if it has one. */
export function ensureOwnDirectory(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false }) ?? make(path)
  const problem = ownDirectoryProblem(stat)
  // Only stint uses this name and creates it 0700: other permissions were added since, so take them away.
  if (problem === undefined) close(path, stat)
  return problem
}

/** Creates or checks a directory that the user may have chosen; others may read it, but not write to it. */
export function ensureChosenDirectory(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false }) ?? make(path)
  const problem = ownDirectoryProblem(stat)
  if (problem !== undefined || (stat.mode & 0o022) === 0 || process.platform === 'win32') return problem
  return `can be written to by others (mode ${(stat.mode & 0o777).toString(8)})`
}

/** Why stint must not write to this path: a link may lead anywhere, and another owner may read along. */
export function ownDirectoryProblem(stat: Stats): string | undefined {
  if (stat.isSymbolicLink()) return 'is a symbolic link'
  if (!stat.isDirectory()) return 'is not a directory'
  if (stat.uid !== geteuid() && process.platform !== 'win32') return `belongs to user ${stat.uid}`
  return undefined
}

function make(path: string): Stats {
  try {
    mkdirSync(path, 0o700)
    // The umask may have removed permissions of our own; it never adds permissions for others.
    close(path, lstatSync(path))
  } catch (error) {
    // Another run created it at the same moment; the caller checks it like any other.
    if (errorCode(error) !== 'EEXIST') throw error
  }
  return lstatSync(path)
}

function close(path: string, stat: Stats): void {
  if ((stat.mode & 0o777) !== 0o700 && process.platform !== 'win32') chmodSync(path, 0o700)
}
