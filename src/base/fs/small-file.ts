import { closeSync, readSync } from 'node:fs'
import { noRegularFile, openRegular } from './open-regular.ts'
import { errorCode } from '../errors/stint-error.ts'

const maxBytes = 1 << 20

/**
 * The text of a small regular file; undefined for anything else: missing, a link, a FIFO, over 1 MiB. One that cannot be read (no permission, no
 * descriptor left) is undefined, too, unless one insists: then that is thrown.
 */
export function readSmallFile(path: string, insist?: 'insist'): string | undefined {
  try {
    const { fd, size } = openRegular(path)
    try {
      if (size > maxBytes) return undefined
      const bytes = Buffer.allocUnsafe(size)
      return bytes.toString('utf8', 0, readSync(fd, bytes, 0, size, 0))
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    if (insist && !noRegularFile.has(errorCode(error))) throw error
    return undefined
  }
}
