import {
  chmodSync,
  closeSync,
  fchmodSync,
  lstatSync,
  mkdirSync,
  openSync,
  writeFileSync,
  writeSync,
} from 'node:fs'

/**
 * Directories 0700 and files 0600, whatever the umask: the mode given to the kernel keeps others out, and where an
 * odd umask would take rights from us too, they are set again.
 */
let umaskTakesOurs: boolean | undefined

/** Makes a directory that must not exist yet. */
export function makePrivateDirectory(path: string): void {
  mkdirSync(path, 0o700)
  umaskTakesOurs ??= (lstatSync(path).mode & 0o700) !== 0o700
  if (umaskTakesOurs) chmodSync(path, 0o700)
}

/** Makes a directory, and those above it, where they are missing. */
export function makePrivateDirectories(path: string): void {
  if (mkdirSync(path, { recursive: true, mode: 0o700 }) === undefined) return
  if ((lstatSync(path).mode & 0o700) !== 0o700) chmodSync(path, 0o700)
}

/** Creates a file that must not exist yet. */
export function createPrivateFile(path: string, content: string | Uint8Array): void {
  // For a text that is one call into Node, not three.
  if (umaskTakesOurs === false) writeFileSync(path, content, { flag: 'wx', mode: 0o600 })
  else write(path, 'wx', content)
}

/** Appends to a file, creating it if needed, in one write. */
export function appendPrivateFile(path: string, content: string): void {
  write(path, 'a', content)
}

/** Opens a file to write to; close it. */
export function openPrivateFile(path: string, flags: 'wx' | 'a'): number {
  const fd = openSync(path, flags, 0o600)
  if (umaskTakesOurs) fchmodSync(fd, 0o600)
  return fd
}

function write(path: string, flags: 'wx' | 'a', content: string | Uint8Array): void {
  const fd = openPrivateFile(path, flags)
  try {
    writeAll(fd, content)
  } finally {
    closeSync(fd)
  }
}

/** `write` may take fewer bytes than it was given, and says so only by its count. */
export function writeAll(fd: number, content: string | Uint8Array): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  for (let done = 0; done < bytes.length;) {
    done += writeSync(fd, bytes, done, bytes.length - done)
  }
}
