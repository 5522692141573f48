import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

// As for small files: no link is followed, and a FIFO that somebody planted does not make us wait.
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/**
 * The whole lines of a file that others append to, of its last `maxBytes`: what is torn at either end is left out. Nothing for what is missing,
 * cannot be read or is no regular file.
 */
export function readLastLines(path: string, maxBytes = 64 << 20): string[] {
  let fd: number
  try {
    fd = openSync(path, flags)
  } catch {
    return []
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) return []
    // One byte more: whether the first line is whole shows in what stands before it.
    const start = Math.max(0, stat.size - maxBytes - 1)
    const bytes = Buffer.allocUnsafe(stat.size - start)
    const text = bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, start))
    const lines = text.split('\n').slice(0, -1)
    return start === 0 ? lines : lines.slice(1)
  } catch {
    return []
  } finally {
    closeSync(fd)
  }
}

/** A line as a JSON object, or undefined: it may be torn, damaged or forged. */
export function parseObject(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
