import { codedError, errnoOf, StintError } from '../../primitives/stint-error.ts'

/** A file where a directory should be, a directory or a link where a file should be, a device. */
const misplaced = new Set(['ENOTDIR', 'EISDIR', 'ELOOP', 'ENXIO'])

/** What went wrong with the files of a session, as an error that somebody can act on. */
export function explain(error: unknown, doing: string): unknown {
  const errno = errnoOf(error)
  if (errno === undefined || error instanceof StintError || !misplaced.has(errno))
    return codedError(error, doing)
  const { path = 'something in its directory' } = error as { path?: string }
  return new StintError('JOURNAL_CORRUPT', `cannot ${doing}: ${path} is not what stint put there`, {
    cause: error,
    detail: `errno=${errno}`,
    hint: 'Look at it, and move it away.',
  })
}
