import { closeSync, fsyncSync, openSync, renameSync, unlinkSync } from 'node:fs'
import type { Script } from 'node:vm'
import { writeAll } from '../fs/private-file.ts'

/**
 * Keeps what V8 has compiled of a script, for the next start: at the end of this one, when the functions that it needs have been compiled.
 * Whole and synced: half a cache could be taken for a whole one, and would never be replaced.
 */
export function saveCompiled(script: Pick<Script, 'createCachedData'>, cache: string): void {
  const staged = `${cache}.${process.pid}`
  try {
    writeAndClose(openSync(staged, 'wx', 0o644), script.createCachedData())
    renameSync(staged, cache)
  } catch {
    // Installed where we may not write, or on a full disk: then every start compiles.
    discard(staged)
  }
}

function writeAndClose(fd: number, bytes: Uint8Array): void {
  try {
    writeAll(fd, bytes)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function discard(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // There is none, or it cannot be removed.
  }
}
