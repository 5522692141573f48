import { existsSync, lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { explained, ifPossible } from '../errors/if-possible.ts'
import { codedError, errorCode, StintError } from '../errors/stint-error.ts'
import { geteuid } from '../process/platform.ts'
import { shellWord } from '../text/escape.ts'
import { listIfReadable } from './exists.ts'
import { ensureChosenDirectory, ownDirectoryProblem, appendPrivateFile } from './private-file.ts'
import { isWithin, lastVisibleOn, nonDirectoryOn } from './paths.ts'

/** A path has at most 4,096 bytes, and the paths of files inside the home must fit, too. */
const maxHomeBytes = 3800

/**
 * An empty file in the home. Every change of what is kept in the home takes the next number. The number is in
 * the name, because a file appears in one step and its text in another.
 */
const formatMark = 'format-1'

/**
 * The directory for everything that outlives a run: `$STINT_HOME`, or `~/.stint`. Throws `HOME_FORMAT` if it
 * was made by a version with another format.
 */
export function stintHome(env: NodeJS.ProcessEnv = process.env): string {
  const home = homePath(env)
  assertHomeFormat(home)
  return home
}

/** The path of the home, whatever its format is. */
export function homePath(env: NodeJS.ProcessEnv = process.env): string {
  const home = env.STINT_HOME || join(userHome(), '.stint')
  if (!isAbsolute(home))
    throw new StintError('ARG_ERROR', `STINT_HOME must be an absolute path, not ${JSON.stringify(home)}`, {
      hint: 'Set STINT_HOME to an absolute path.',
    })
  if (home.length * 3 > maxHomeBytes && Buffer.byteLength(home) > maxHomeBytes)
    throw noDirectory(home, 'ENAMETOOLONG')
  try {
    // People keep their dot directories elsewhere and link to them: use the directory the link leads to.
    return realpathSync.native(home)
  } catch (error) {
    // No directory can exist at such a path. A missing one is created later; its first use reports the rest.
    const errno = errorCode(error) ?? ''
    if (['ELOOP', 'ENAMETOOLONG'].includes(errno)) throw noDirectory(home, errno, error)
    return home
  }
}

function userHome(): string {
  // Without HOME, `homedir` throws for a user id that has no entry in the system's user database.
  const home = ifPossible(homedir) ?? ''
  if (isAbsolute(home)) return home
  throw new StintError('HOME_MISSING', 'there is no home directory: HOME does not name one', {
    hint: 'Set STINT_HOME to the absolute path of a directory of yours.',
  })
}

/** The home whose format was checked last: commands ask for the path of the home again and again. */
let checkedHome = ''

/** Throws `HOME_FORMAT` if a home was made by a version with another format. */
export function assertHomeFormat(home: string): void {
  if (home !== checkedHome && hasFormat(home)) checkedHome = home
}

/** False for a home that is still to be made, or has nothing in it that depends on the format. */
function hasFormat(home: string): boolean {
  const names = withHomeErrors(home, `list ${home}`, () => listIfReadable(home))
  const otherMark = names.find((name) => /^format-\d+$/.test(name) && name !== formatMark)
  if (otherMark !== undefined) throw otherFormat(home, otherMark)
  if (names.includes(formatMark)) return true
  const unmarked = names.find((name) => name === 'locks' || name === 'sessions')
  if (unmarked === undefined) return false
  // Another process may have made the home since the first look. It made the mark before anything else.
  if (existsSync(join(home, formatMark))) return true
  throw otherFormat(home, unmarked)
}

const otherFormat = (home: string, mark: string): StintError =>
  new StintError('HOME_FORMAT', `${home} was made by another version of stint`, {
    detail: `path=${home} found=${mark} expected=${formatMark}`,
    hint: `Move it away when nothing uses it any more: mv ${shellWord(home)} ${shellWord(`${home}-old`)}`,
  })

/** Creates the home, with the mark of its format, or checks an existing one before it is trusted. */
export function ensureHome(home: string): void {
  ensureHomeDirectory(home)
  if (hasFormat(home)) return
  withHomeErrors(home, `write to ${home}`, () => appendPrivateFile(join(home, formatMark), ''))
  // A process of another version may have marked the same empty home since the look. With both marks, every
  // process of either version refuses the home.
  hasFormat(home)
}

/** Creates a directory in the home; checks an existing one before it is trusted. */
export function ensureHomeDirectory(path: string): void {
  const problem = explained(
    (error) => cannotMake(error, path),
    () => ensureChosenDirectory(path),
  )
  if (problem !== undefined) throw homeUnsafe(path, problem)
}

function cannotMake(error: unknown, path: string): unknown {
  const errno = errorCode(error) ?? ''
  if (['ELOOP', 'ENAMETOOLONG'].includes(errno)) return noDirectory(path, errno, error)
  if (errno !== 'ENOENT') return homeError(error, path, `make ${path}`)
  const parent = dirname(path)
  const parentExists = statSync(parent, { throwIfNoEntry: false })?.isDirectory() ?? false
  if (!parentExists) return noDirectory(parent, errno, error)
  const hint = 'Set STINT_HOME to a directory on a disk.'
  return homeMissing(`no directory can be made in ${parent}: ${errno}`, errno, error, hint)
}

const noDirectory = (path: string, errno: string, cause?: unknown): StintError =>
  homeMissing(`there is no directory ${shortened(path)}: ${errno}`, errno, cause)

const shortened = (path: string): string => (path.length > 300 ? `${path.slice(0, 300)}…` : path)

/** `HOME_UNSAFE` unless this is a directory of this user: a link would lead to files elsewhere. */
export function assertOwnHomeDirectory(path: string, stat: Stats): void {
  const problem = ownDirectoryProblem(stat)
  if (problem !== undefined) throw homeUnsafe(path, problem)
}

/** An error for a path in the home that is not a directory stint may use; `problem` completes "<path> …". */
export const homeUnsafe = (path: string, problem: string, cause?: unknown): StintError =>
  new StintError('HOME_UNSAFE', `${path} ${problem}`, { cause, detail: `path=${path}` })

const homeMissing = (message: string, errno: string, cause?: unknown, hint?: string): StintError =>
  new StintError('HOME_MISSING', message, { cause, detail: `errno=${errno}`, hint })

/** Runs `act`, and passes what it throws through `homeError`. */
export const withHomeErrors = <Result>(home: string, doing: string, act: () => Result): Result =>
  explained((error) => homeError(error, home, doing), act)

/**
 * Converts the error of a failed system call in the home to a coded one that names the path at fault and says
 * what to do; any other error passes unchanged. `doing` completes the sentence "cannot …".
 */
export function homeError(error: unknown, home: string, doing: string): unknown {
  const errno = errorCode(error)
  if (errno === undefined || error instanceof StintError) return error
  const path = failedPath(error as NodeJS.ErrnoException & { dest?: string }, home)
  if (errno === 'ENOTDIR') return notDirectory(home, nonDirectoryOn(path) ?? home, error)
  if (errno === 'EACCES') return noPermission(lastVisibleOn(path), doing, error)
  return codedError(error, doing)
}

/** Calls that change the entries of a directory, and need permission to write to it. */
const changesParent = new Set(['link', 'rename', 'rmdir', 'symlink', 'unlink'])

function failedPath(
  { path, dest = path, syscall = '' }: NodeJS.ErrnoException & { dest?: string },
  home: string,
): string {
  if (dest === undefined || !isWithin(dest, home) || dest === home) return home
  return changesParent.has(syscall) ? dirname(dest) : dest
}

function notDirectory(home: string, path: string, cause: unknown): StintError {
  if (isWithin(path, home)) return homeUnsafe(path, 'is not a directory', cause)
  const hint = 'Set STINT_HOME to a path that leads through directories only.'
  return homeMissing(`there is no home in ${path}, which is not a directory`, 'ENOTDIR', cause, hint)
}

function noPermission(path: string, doing: string, cause: unknown): StintError {
  const isOwn = ifPossible(() => lstatSync(path).uid) === geteuid()
  return new StintError('PERMISSION_DENIED', `cannot ${doing}: no permission for ${path} (EACCES)`, {
    cause,
    detail: `errno=EACCES path=${path}`,
    hint: isOwn
      ? `chmod u+rwX ${shellWord(path)}, or set STINT_HOME to another directory.`
      : 'Set STINT_HOME to a directory that you may write to.',
  })
}
