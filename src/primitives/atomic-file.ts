import { closeSync, fsyncSync, linkSync, openSync, renameSync, unlinkSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errnoOf } from './stint-error.ts'
import { ulid } from './id.ts'

/**
 * Replaces a file so that a reader, or a crash at any moment, finds the old content or the new one, whole:
 * temp file in the same directory, write, fsync, rename, fsync the directory.
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const staged = stage(path, content)
  try {
    renameSync(staged, path)
  } catch (error) {
    unlinkSync(staged)
    throw error
  }
  syncDirectory(dirname(path))
}

/**
 * Publishes a file that must not exist yet, whole: `link` fails if the name is taken, so of any number of
 * concurrent publishers exactly one gets `true`.
 */
export function publishFile(path: string, content: string | Uint8Array): boolean {
  const staged = stage(path, content)
  try {
    linkSync(staged, path)
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  } finally {
    unlinkSync(staged)
  }
  syncDirectory(dirname(path))
  return true
}

function stage(path: string, content: string | Uint8Array): string {
  const staged = join(dirname(path), `.${process.pid}-${ulid()}.tmp`)
  const fd = openSync(staged, 'wx', 0o600)
  try {
    writeAll(fd, content)
    fsyncSync(fd)
  } catch (error) {
    unlinkSync(staged)
    throw error
  } finally {
    closeSync(fd)
  }
  return staged
}

/** `write` may take fewer bytes than it was given, and says so only by its count. */
export function writeAll(fd: number, content: string | Uint8Array): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  for (let done = 0; done < bytes.length;) {
    done += writeSync(fd, bytes, done, bytes.length - done)
  }
}

/** A new name is durable only when its directory is; some file systems refuse, and need it not. */
export function syncDirectory(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } catch (error) {
    if (errnoOf(error) !== 'EINVAL') throw error
  } finally {
    closeSync(fd)
  }
}
