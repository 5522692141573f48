import { lstatSync } from 'node:fs'
import { dirname } from 'node:path'
import { isWithin } from '../fs/is-within.ts'
import { shellWord } from '../text/shell-word.ts'
import { codedError, errorCode, StintError } from './stint-error.ts'
import { geteuid } from '../process/user.ts'
import { closedOnWayTo, noDirectoryOnWayTo } from '../fs/path-ancestors.ts'

/** Something in the home is not a directory that we may use. */
export const homeUnsafe = (path: string, problem: string, cause?: unknown): StintError =>
  new StintError('HOME_UNSAFE', `${path} ${problem}`, { cause, detail: `path=${path}` })

/** There is no home, and none can be made. */
export const homeMissing = (message: string, errno: string, cause?: unknown, hint?: string): StintError =>
  new StintError('HOME_MISSING', message, { cause, detail: `errno=${errno}`, hint })

/** Does something in the home. Whatever fails becomes an error that somebody can act on. */
export function explainingHome<Result>(home: string, doing: string, act: () => Result): Result {
  try {
    return act()
  } catch (error) {
    throw explainHome(error, home, doing)
  }
}

/** Why a system call in the home has failed: what on the way there is at fault, and what to do about it. `doing` completes the sentence "cannot …". */
export function explainHome(error: unknown, home: string, doing: string): unknown {
  const errno = errorCode(error)
  if (errno === undefined || error instanceof StintError) return error
  const place = placeOf(error as NodeJS.ErrnoException & { dest?: string }, home)
  if (errno === 'ENOTDIR') return notDirectory(home, noDirectoryOnWayTo(place) ?? home, error)
  if (errno === 'EACCES') return closed(closedOnWayTo(place), doing, error)
  return codedError(error, doing)
}

/** Calls that change what is in a directory, and need its permission. */
const changesNames = new Set(['link', 'rename', 'rmdir', 'symlink', 'unlink'])

function placeOf(
  { path, dest = path, syscall = '' }: NodeJS.ErrnoException & { dest?: string },
  home: string,
): string {
  if (dest === undefined || !isWithin(dest, home) || dest === home) return home
  return changesNames.has(syscall) ? dirname(dest) : dest
}

function notDirectory(home: string, path: string, cause: unknown): StintError {
  if (isWithin(path, home)) return homeUnsafe(path, 'is not a directory', cause)
  const hint = 'Set STINT_HOME to a path that leads through directories only.'
  return homeMissing(`there is no home in ${path}, which is not a directory`, 'ENOTDIR', cause, hint)
}

function closed(path: string, doing: string, cause: unknown): StintError {
  return new StintError('PERMISSION_DENIED', `cannot ${doing}: no permission for ${path} (EACCES)`, {
    cause,
    detail: `errno=EACCES path=${path}`,
    hint: isOurs(path)
      ? `chmod u+rwX ${shellWord(path)}, or set STINT_HOME to another directory.`
      : 'Set STINT_HOME to a directory that you may write to.',
  })
}

function isOurs(path: string): boolean {
  try {
    return lstatSync(path).uid === geteuid()
  } catch {
    return false
  }
}
