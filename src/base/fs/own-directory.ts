import { chmodSync, lstatSync, mkdirSync, type Stats } from 'node:fs'
import { errorCode } from '../errors/stint-error.ts'
import { geteuid } from '../process/platform.ts'

/** Makes a private directory, or checks with lstat what is there; returns what is wrong with it, if anything is. */
export function ensureOwnDirectory(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false }) ?? make(path)
  const problem = ownDirectoryProblem(stat)
  // It has a name that only we use: if others may look into it, someone has opened it since.
  if (problem === undefined) close(path, stat)
  return problem
}

/** The same for one that a user may have chosen: what is there already stays as it is, if only we can write to it. */
export function ensureChosenDirectory(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false }) ?? make(path)
  const problem = ownDirectoryProblem(stat)
  if (problem !== undefined || (stat.mode & 0o022) === 0 || process.platform === 'win32') return problem
  return `can be written to by others (mode ${(stat.mode & 0o777).toString(8)})`
}

/** Why this is not a directory of ours to write to: a link may lead anywhere, another owner may read along. */
export function ownDirectoryProblem(stat: Stats): string | undefined {
  if (stat.isSymbolicLink()) return 'is a symbolic link'
  if (!stat.isDirectory()) return 'is not a directory'
  if (stat.uid !== geteuid() && process.platform !== 'win32') return `belongs to user ${stat.uid}`
  return undefined
}

function make(path: string): Stats {
  try {
    mkdirSync(path, 0o700)
    // A umask can take permissions from us, never give them to others.
    close(path, lstatSync(path))
  } catch (error) {
    // Another run made it in the same moment: it is checked like any other.
    if (errorCode(error) !== 'EEXIST') throw error
  }
  return lstatSync(path)
}

function close(path: string, stat: Stats): void {
  if ((stat.mode & 0o777) !== 0o700 && process.platform !== 'win32') chmodSync(path, 0o700)
}
