import { chmodSync, closeSync, constants, existsSync, fstatSync, lstatSync, openSync } from 'node:fs'
import { geteuid } from '../process/platform.ts'
import { ifPossible } from '../errors/if-possible.ts'
import { errorCode } from '../errors/stint-error.ts'

/**
 * A directory held open, so that operations stay in it even if its path is replaced meanwhile. Its entries
 * are reached through `base`: on Linux /proc/self/fd/N, which the kernel resolves to the open directory
 * itself; elsewhere its path, which leaves a window for a process that may write to the parent directory.
 */
export interface OpenDirectory extends Disposable {
  readonly base: string
  readonly ino: number
  /** The device number; an entry with a different one is the root of another file system. */
  readonly dev: number
  /** Its own size in bytes and in blocks of 512 bytes, when it was opened. */
  readonly size: number
  readonly blocks: number
  /** Grants the owner rwx if this user owns the directory; false otherwise. */
  makeWritable(): boolean
}

const O_PATH = 0o10000000
const directoryOnly = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0)

let fdPaths: boolean | undefined

/**
 * Opens a directory, never through a symlink. A directory of this user that lacks read permission is made
 * readable first. With `asIs` its mode stays, and it may be one that can be entered but not listed.
 */
export function openDirectory(path: string | Buffer, { asIs = false } = {}): OpenDirectory {
  fdPaths ??= process.platform === 'linux' && existsSync('/proc/self/fd')
  return fdPaths ? openByDescriptor(path, asIs) : openByPath(String(path), asIs)
}

function openByDescriptor(path: string | Buffer, asIs: boolean): OpenDirectory {
  const fd = asIs ? openSync(path, O_PATH | directoryOnly) : openReadable(path)
  const { dev, ino, size, blocks, uid } = fstatSync(fd)
  return {
    base: `/proc/self/fd/${fd}`,
    ino,
    dev,
    size,
    blocks,
    makeWritable() {
      if (uid !== geteuid()) return false
      chmodSync(`/proc/self/fd/${fd}`, 0o700)
      return true
    },
    // Nothing was written through it: a close that fails loses nothing.
    [Symbol.dispose]: () => void ifPossible(() => closeSync(fd)),
  }
}

function openReadable(path: string | Buffer): number {
  try {
    return openSync(path, directoryOnly)
  } catch (error) {
    if (errorCode(error) !== 'EACCES') throw error
    return openUnreadable(path, error)
  }
}

// O_PATH pins the directory without needing permission on it, so that the chmod cannot hit a replacement.
function openUnreadable(path: string | Buffer, refusal: unknown): number {
  const pin = openSync(path, O_PATH | directoryOnly)
  try {
    if (fstatSync(pin).uid !== geteuid()) throw refusal
    chmodSync(`/proc/self/fd/${pin}`, 0o700)
    return openSync(`/proc/self/fd/${pin}`, constants.O_RDONLY | constants.O_DIRECTORY)
  } finally {
    closeSync(pin)
  }
}

function openByPath(path: string, asIs: boolean): OpenDirectory {
  const stat = lstatSync(path)
  if (!stat.isDirectory()) throw Object.assign(new Error(`ENOTDIR: ${path}`), { code: 'ENOTDIR' })
  const makeWritable = () => {
    if (stat.uid !== geteuid()) return false
    chmodSync(path, 0o700)
    return true
  }
  if (!asIs && process.platform !== 'win32' && (stat.mode & 0o700) !== 0o700) makeWritable()
  const { ino, dev, size, blocks } = stat
  return { base: path, ino, dev, size, blocks, makeWritable, [Symbol.dispose]() {} }
}
