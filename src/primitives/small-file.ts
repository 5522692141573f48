import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { errnoOf } from './stint-error.ts'

const maxBytes = 1 << 20
// Without O_NONBLOCK, opening a FIFO that somebody planted would wait for a writer for ever.
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** What says that there is no such file. Anything else may be over in a moment. */
const noFile = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'])

/**
 * The text of a small regular file; undefined for anything else: missing, a link, a FIFO, over 1 MiB. One that cannot be read (no permission, no
 * descriptor left) is undefined, too, unless one insists: then that is thrown.
 */
export function readSmallFile(path: string, insist?: 'insist'): string | undefined {
  let fd: number
  try {
    fd = openSync(path, flags)
  } catch (error) {
    if (insist && !noFile.has(errnoOf(error) ?? '')) throw error
    return undefined
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size > maxBytes) return undefined
    const bytes = Buffer.allocUnsafe(stat.size)
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0))
  } catch (error) {
    if (insist) throw error
    return undefined
  } finally {
    closeSync(fd)
  }
}
