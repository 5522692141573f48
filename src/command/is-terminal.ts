import { fstatSync } from 'node:fs'

/** `/dev/null` and the like, on Linux. */
const memoryDevices = 1

/** Is it a terminal? `node:tty`, a tenth of a start to load, is asked only about what can be one. */
export async function isTerminal(fd: 0 | 1 | 2): Promise<boolean> {
  try {
    const stat = fstatSync(fd)
    if (!stat.isCharacterDevice()) return false
    if (process.platform === 'linux' && stat.rdev >> 8 === memoryDevices) return false
  } catch {
    // Closed, or no more than a handle: whoever knows these is asked.
  }
  const { isatty } = await import('node:tty')
  return isatty(fd)
}

/** How many columns a terminal has; 80 of anything else. */
export async function widthOf(fd: 1 | 2): Promise<number> {
  if (!(await isTerminal(fd))) return usualWidth
  return (fd === 1 ? process.stdout : process.stderr).columns || usualWidth
}

export const usualWidth = 80
