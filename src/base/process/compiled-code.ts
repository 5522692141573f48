import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import type { Script } from 'node:vm'
import { writeAll } from '../fs/private-file.ts'

/**
 * Saves V8's compiled code of a script for the next start; call it at exit, when the functions in use are
 * compiled. Synced before the rename: V8 could accept a truncated cache, and nothing would replace it. Not
 * `replaceFile`: the launchers contain this code, and must stay small.
 */
export function saveCompiled(script: Pick<Script, 'createCachedData'>, cache: string): void {
  const staged = `${cache}.${process.pid}`
  try {
    const fd = openSync(staged, 'wx', 0o644)
    try {
      writeAll(fd, script.createCachedData())
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(staged, cache)
  } catch {
    // The package directory is read-only, or the disk is full: then every start compiles again.
    rmSync(staged, { force: true })
  }
}
