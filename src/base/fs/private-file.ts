import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  type Stats,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { safeOpenFlags } from './regular-file.ts'
import { errorCode } from '../errors/stint-error.ts'
import { geteuid } from '../process/platform.ts'

// Directories are made 0700 and files 0600, by mode: a umask can only take permissions away.

/** Creates a directory; fails if it exists. */
export const makePrivateDirectory = (path: string): void => mkdirSync(path, 0o700)

/** Creates a directory and its missing parents. */
export const makePrivateDirectories = (path: string): void =>
  void mkdirSync(path, { recursive: true, mode: 0o700 })

/** Creates a file with this content; fails if it exists. */
export const createPrivateFile = (path: string, content: string | Uint8Array): void =>
  writeFileSync(path, content, { flag: 'wx', mode: 0o600 })

/** Appends to a file, creating it if needed, in one write. */
export function appendPrivateFile(path: string, content: string): void {
  const fd = openPrivateFile(path, 'a')
  try {
    writeAll(fd, content)
  } finally {
    closeSync(fd)
  }
}

const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants
const openFlags = { wx: O_WRONLY | O_CREAT | O_EXCL, a: O_WRONLY | O_CREAT | O_APPEND | safeOpenFlags }

/** Opens a new file, or one to append to; never through a link, never a FIFO. The caller closes it. */
export const openPrivateFile = (path: string, how: 'wx' | 'a'): number =>
  openSync(path, openFlags[how], 0o600)

/** Writes all of the content where the file stands, or to its end if it was opened for appending. */
export function writeAll(fd: number, content: string | Uint8Array): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  for (let done = 0; done < bytes.length;) {
    const written = writeSync(fd, bytes, done, bytes.length - done)
    if (written === 0) throw Object.assign(new Error('the disk takes no more'), { code: 'ENOSPC' })
    done += written
  }
}

/** Creates a private directory, or checks an existing one with lstat; returns its problem, if it has one. */
export function ensureOwnDirectory(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false }) ?? makeOwnDirectory(path)
  const problem = ownDirectoryProblem(stat)
  // Only stint uses this name and creates it 0700: other permissions were added since, so take them away.
  if (problem === undefined) closeToOthers(path, stat)
  return problem
}

/** Creates or checks a directory that the user may have chosen; others may read it, but not write to it. */
export function ensureChosenDirectory(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false }) ?? makeOwnDirectory(path)
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

function makeOwnDirectory(path: string): Stats {
  try {
    makePrivateDirectory(path)
  } catch (error) {
    // Another run created it at the same moment; the caller checks it like any other.
    if (errorCode(error) !== 'EEXIST') throw error
  }
  return lstatSync(path)
}

function closeToOthers(path: string, stat: Stats): void {
  if ((stat.mode & 0o777) !== 0o700 && process.platform !== 'win32') chmodSync(path, 0o700)
}
