import { closeSync, constants, fstatSync, openSync } from 'node:fs'

/** No link is followed. Without O_NONBLOCK, opening a FIFO that somebody planted would wait for its other end for ever. */
export const careful = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** The errors of opening something that is no regular file, or is not there. Any other error may be temporary. */
export const noRegularFile: ReadonlySet<string | undefined> = new Set([
  'ENOENT',
  'ENOTDIR',
  'ELOOP',
  'ENXIO',
  'EISDIR',
])

/** Opens a regular file, and throws an error of `noRegularFile` for everything else. Close it. */
export function openRegular(path: string, flags: number = constants.O_RDONLY): { fd: number; size: number } {
  const fd = openSync(path, flags | careful)
  const stat = fstatSync(fd)
  if (stat.isFile()) return { fd, size: stat.size }
  closeSync(fd)
  throw Object.assign(new Error(`${path} is not a regular file`), { code: 'EISDIR', path })
}
