import { writeSync } from 'node:fs'
import { errorCode } from '../errors/stint-error.ts'
import { sleep } from './clock.ts'

/**
 * Writes everything to stdout or stderr before it returns: a process that exits right afterwards loses
 * nothing. False if the disk is full; a reader that has closed the pipe is no failure.
 */
export const writeOut = (fd: 1 | 2, text: string): boolean => deliver(fd, text) !== 'full'

/** Writes like `writeOut`, and also reports `unread`: a command with endless output then stops. */
export function deliver(fd: 1 | 2, content: string | Uint8Array): 'written' | 'full' | 'unread' {
  if (content === '') return 'written'
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  for (let done = 0; done < bytes.length;) {
    try {
      done += writeSync(fd, bytes, done)
    } catch (error) {
      const errno = errorCode(error)
      // The pipe is non-blocking and full: give its reader a moment.
      if (errno === 'EAGAIN') sleep(1)
      else return errno === 'ENOSPC' || errno === 'EDQUOT' ? 'full' : 'unread'
    }
  }
  return 'written'
}
