import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs'
import type { Script } from 'node:vm'

/**
 * Keeps what V8 has compiled of a script, for the next start: at the end of this one, when the functions that it needs have been compiled.
 * Synced: half a cache could be taken for a whole one.
 */
export function saveCompiled(script: Script, cache: string): void {
  const staged = `${cache}.${process.pid}`
  try {
    const fd = openSync(staged, 'wx', 0o644)
    writeSync(fd, script.createCachedData())
    fsyncSync(fd)
    closeSync(fd)
    renameSync(staged, cache)
  } catch {
    // Installed where we may not write: then every start compiles.
  }
}
