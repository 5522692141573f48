import { ifPossible } from '../errors/if-possible.ts'
import { closeSync, fstatSync } from 'node:fs'

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
