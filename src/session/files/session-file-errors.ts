import { lstatSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { homeError } from '../../base/fs/home.ts'
import { codedError, errorCode, StintError } from '../../base/errors/stint-error.ts'
import { sessionNotFound } from '../session-errors.ts'

/** A file where a directory should be, a directory or a link where a file should be, a device. */
const misplaced = new Set(['ENOTDIR', 'EISDIR', 'ELOOP', 'ENXIO'])

/** Does something with the files of a session; `root` is its directory. Whatever fails becomes an error that somebody can act on. */
export function withFileErrors<T>(doing: string, root: string | undefined, act: () => T): T {
  try {
    return act()
  } catch (error) {
    throw sessionFileError(error, doing, root)
  }
}

/** What went wrong with the files of a session, as such an error. */
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

/** Somebody may have removed the session in this moment. */
const isGone = (root: string): boolean => lstatSync(root, { throwIfNoEntry: false }) === undefined
