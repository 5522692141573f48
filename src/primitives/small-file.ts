import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

const maxBytes = 1 << 20
// Without O_NONBLOCK, opening a FIFO that somebody planted would wait for a writer for ever.
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** The text of a small regular file; undefined for anything else: missing, a link, a FIFO, over 1 MiB. */
export function readSmallFile(path: string): string | undefined {
  let fd: number
  try {
    fd = openSync(path, flags)
  } catch {
    return undefined
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size > maxBytes) return undefined
    const bytes = Buffer.allocUnsafe(stat.size)
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, 0))
  } catch {
    return undefined
  } finally {
    closeSync(fd)
  }
}
