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

export const usualColumns = 80

/** The width of the terminal on stdout or stderr; 80 columns if it is something else. */
export async function terminalColumns(fd: 1 | 2): Promise<number> {
  if (!(await isTerminal(fd))) return usualColumns
  return (fd === 1 ? process.stdout : process.stderr).columns || usualColumns
}
