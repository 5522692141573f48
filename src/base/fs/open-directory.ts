import { chmodSync, closeSync, constants, existsSync, fstatSync, lstatSync, openSync } from 'node:fs'
import { geteuid } from '../process/platform.ts'
import { errorCode } from '../errors/stint-error.ts'

/**
 * A directory held open, so that what is done in it is done in that very directory, whatever happens to its
 * path meanwhile. Its entries are reached through `base`: on Linux /proc/self/fd/N, which the kernel resolves to the
 * open directory itself; elsewhere its path, which leaves a window for someone who may write to its parent.
 */
export interface OpenDirectory {
  readonly base: string
  readonly ino: number
  /** Device number: another one below means another file system is mounted there. */
  readonly dev: number
  /** u+rwx, if it is ours; false if that cannot help. */
  makeWritable(): boolean
  close(): void
}

const O_PATH = 0o10000000
const directoryOnly = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0)

let fdPaths: boolean | undefined

/**
 * Opens a directory, never through a symlink. One of ours that we may not read is made readable first; with `asIs` it stays as it is, and may be one that can
 * be entered, but not listed.
 */
export function openDirectory(path: string | Buffer, { asIs = false } = {}): OpenDirectory {
  fdPaths ??= process.platform === 'linux' && existsSync('/proc/self/fd')
  return fdPaths ? openByDescriptor(path, asIs) : openByPath(String(path), asIs)
}

function openByDescriptor(path: string | Buffer, asIs: boolean): OpenDirectory {
  const fd = asIs ? openSync(path, O_PATH | directoryOnly) : openReadable(path)
  const { dev, ino, uid } = fstatSync(fd)
  return {
    base: `/proc/self/fd/${fd}`,
    ino,
    dev,
    makeWritable() {
      if (uid !== geteuid()) return false
      chmodSync(`/proc/self/fd/${fd}`, 0o700)
      return true
    },
    close: () => closeSync(fd),
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

// O_PATH pins the directory without needing permission on it, so the chmod cannot be led elsewhere.
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
  return { base: path, ino: stat.ino, dev: stat.dev, makeWritable, close() {} }
}
