import { closeSync, fstatSync, writeSync } from 'node:fs'
import { ifPossible } from '../errors/if-possible.ts'
import { errorCode } from '../errors/stint-error.ts'
import { sleep } from './clock.ts'

/** The major device number of `/dev/null`, `/dev/zero` and their kind on Linux. */
const memoryDevices = 1

/** Can this descriptor be a terminal? If not, `node:tty`, a tenth of a start, need not be loaded to ask. */
function canBeTerminal(fd: 0 | 1 | 2): boolean {
  try {
    const stat = fstatSync(fd)
    if (!stat.isCharacterDevice()) return false
    return process.platform !== 'linux' || stat.rdev >> 8 !== memoryDevices
  } catch {
    // fstat failed, because the descriptor is closed or not a plain one: let isatty decide.
    return true
  }
}

/** Is this descriptor a terminal? */
export async function isTerminal(fd: 0 | 1 | 2): Promise<boolean> {
  if (!canBeTerminal(fd)) return false
  const { isatty } = await import('node:tty')
  return isatty(fd)
}

export const usualColumns = 80

/** The width of the terminal on stdout or stderr; undefined if it is something else. */
export function columnsOf(fd: 1 | 2): number | undefined {
  if (!canBeTerminal(fd)) return undefined
  const stream = fd === 1 ? process.stdout : process.stderr
  return stream.isTTY ? stream.columns || usualColumns : undefined
}

/**
 * Keeps Node from resetting the terminal at exit if stdout is a pipe. Node would restore the modes that it
 * found at its start, which takes the keys from a pager that reads our output.
 */
export function leaveTerminalToReader(): void {
  if (canBeTerminal(1)) return
  for (const fd of [0, 2] as const) if (canBeTerminal(fd)) ifPossible(() => closeSync(fd))
}

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
