import { lstatSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { homeError } from '../../base/fs/home.ts'
import { codedError, errorCode, StintError } from '../../base/errors/stint-error.ts'
import { sessionNotFound } from '../session-errors.ts'

/** The path is a file instead of a directory, a directory or a link instead of a file, or a device. */
const misplaced = new Set(['ENOTDIR', 'EISDIR', 'ELOOP', 'ENXIO'])

/** Acts on the files of a session, whose directory is `root`. Codes what it throws, and its rejection. */
export function withFileErrors<T>(doing: string, root: string | undefined, act: () => T): T {
  const rethrow = (error: unknown): never => {
    throw sessionFileError(error, doing, root)
  }
  try {
    const result = act()
    return result instanceof Promise ? (result.catch(rethrow) as T) : result
  } catch (error) {
    return rethrow(error)
  }
}

/** Turns an error of a file operation into a coded error. `doing` completes "cannot …". */
export function sessionFileError(error: unknown, doing: string, root?: string): unknown {
  const errno = errorCode(error)
  if (errno === undefined || error instanceof StintError) return error
  const missing = errno === 'ENOENT' && root !== undefined
  if (missing && isGone(root)) return sessionNotFound(basename(root), error)
  if (!missing && !misplaced.has(errno))
    return root === undefined ? codedError(error, doing) : homeError(error, dirname(dirname(root)), doing)
  const { path = 'something in its directory' } = error as { path?: string }
  const wrong = missing ? 'is missing' : 'is not what stint put there'
  return new StintError('JOURNAL_CORRUPT', `cannot ${doing}: ${path} ${wrong}`, {
    cause: error,
    detail: `errno=${errno}`,
    ...(missing ? {} : { hint: 'Look at it, and move it away.' }),
  })
}

/** Has the session been removed, just now perhaps? */
const isGone = (root: string): boolean => lstatSync(root, { throwIfNoEntry: false }) === undefined
