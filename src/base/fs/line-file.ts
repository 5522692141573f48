import { closeSync, readSync } from 'node:fs'
import { openRegular } from './open-regular.ts'

/**
 * The whole lines of a file that others append to, of its last `maxBytes`: what is torn at either end is left out. Nothing for what is missing,
 * cannot be read or is no regular file.
 */
export function readLastLines(path: string, maxBytes = 64 << 20): string[] {
  try {
    const { fd, size } = openRegular(path)
    try {
      // One byte more: whether the first line is whole shows in what stands before it.
      const start = Math.max(0, size - maxBytes - 1)
      const bytes = Buffer.allocUnsafe(size - start)
      const text = bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, start))
      const lines = text.split('\n').slice(0, -1)
      return start === 0 ? lines : lines.slice(1)
    } finally {
      closeSync(fd)
    }
  } catch {
    return []
  }
}
