import { writeSync } from 'node:fs'
import { sleep } from '../base/process/sleep.ts'
import { errorCode } from '../base/errors/stint-error.ts'

/**
 * Writes to stdout or stderr, all of it, before returning: a process that exits right after loses nothing.
 * False if it could not be written because the disk is full; a reader that has gone away is not our failure.
 */
export const writeOut = (fd: 1 | 2, text: string): boolean => deliver(fd, text) !== 'full'

/** The same for who writes on and on, and should end when nobody reads it any more. */
export function deliver(fd: 1 | 2, content: string | Uint8Array): 'written' | 'full' | 'unread' {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  for (let done = 0; done < bytes.length;) {
    try {
      done += writeSync(fd, bytes, done)
    } catch (error) {
      const errno = errorCode(error)
      // A non-blocking pipe is full: its reader needs a moment.
      if (errno === 'EAGAIN') sleep(2)
      else return errno === 'ENOSPC' || errno === 'EDQUOT' ? 'full' : 'unread'
    }
  }
  return 'written'
}
