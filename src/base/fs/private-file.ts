import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  type Stats,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { safeOpenFlags } from './regular-file.ts'
import { errorCode } from '../errors/stint-error.ts'
import { geteuid } from '../process/platform.ts'

/**
 * Directories are 0700 and files 0600 under any umask. The mode passed to the kernel keeps other users out;
 * an odd umask may also take permissions from the owner, which are then restored. The first directory or file
 * created shows whether it does: checking each one would cost a system call a file.
 */
let directoriesLoseRights: boolean | undefined
let filesLoseRights: boolean | undefined

/** Creates a directory; fails if it exists. */
export function makePrivateDirectory(path: string): void {
  mkdirSync(path, 0o700)
  if (directoriesLoseRights === undefined) {
    const { mode } = lstatSync(path)
    directoriesLoseRights = (mode & 0o700) !== 0o700
    filesLoseRights = (mode & 0o600) !== 0o600
  }
  if (directoriesLoseRights) chmodSync(path, 0o700)
}

/** Creates a directory and its missing parents. */
export function makePrivateDirectories(path: string): void {
  try {
    makePrivateDirectory(path)
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && statSync(path).isDirectory()) return
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error
    // Not with `recursive`: under an odd umask, each needs its permissions before the next is created.
    makePrivateDirectories(dirname(path))
    makePrivateDirectories(path)
  }
}

/** Creates a file with this content; fails if it exists. */
export function createPrivateFile(path: string, content: string | Uint8Array): void {
  // One call into Node instead of three.
  if (filesLoseRights === false) writeFileSync(path, content, { flag: 'wx', mode: 0o600 })
  else write(path, 'wx', content)
}

/** Appends to a file, creating it if needed, in one write. */
export function appendPrivateFile(path: string, content: string): void {
  write(path, 'a', content)
}

const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants
const openFlags = { wx: O_WRONLY | O_CREAT | O_EXCL, a: O_WRONLY | O_CREAT | O_APPEND | safeOpenFlags }

/** Opens a new file, or one to append to; never through a link, never a FIFO. The caller closes it. */
export function openPrivateFile(path: string, how: 'wx' | 'a'): number {
  const fd = openSync(path, openFlags[how], 0o600)
  // Only a new file shows what the umask does; an existing one may have any mode.
  const hasLost = filesLoseRights ?? (fstatSync(fd).mode & 0o600) !== 0o600
  if (how === 'wx') filesLoseRights = hasLost
  if (hasLost) fchmodSync(fd, 0o600)
  return fd
}

function write(path: string, how: 'wx' | 'a', content: string | Uint8Array): void {
  const fd = openPrivateFile(path, how)
  try {
    writeAll(fd, content)
  } finally {
    closeSync(fd)
  }
}

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
    mkdirSync(path, 0o700)
    // The umask may have removed permissions of our own; it never adds permissions for others.
    closeToOthers(path, lstatSync(path))
  } catch (error) {
    // Another run created it at the same moment; the caller checks it like any other.
    if (errorCode(error) !== 'EEXIST') throw error
  }
  return lstatSync(path)
}

function closeToOthers(path: string, stat: Stats): void {
  if ((stat.mode & 0o777) !== 0o700 && process.platform !== 'win32') chmodSync(path, 0o700)
}
