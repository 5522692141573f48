import { readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Replaces the directory `target` with `next`. A program finds the old one or the new one, never a mixture;
 * between the two renames, for a moment, it finds none. Of two builds that do this at the same time, the last
 * one wins.
 */
export function swapIn(next, target) {
  const last = `${target}.last-${process.pid}`
  for (;;) {
    try {
      renameSync(target, last)
    } catch (error) {
      if (error.code !== 'ENOENT') throw error
    }
    try {
      renameSync(next, target)
      return
    } catch (error) {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    } finally {
      rmSync(last, { recursive: true, force: true })
    }
  }
}

/** Removes the directories that killed builds have left. */
export function removeAbandoned(directory) {
  for (const name of readdirSync(directory)) {
    const pid = Number(/^dist\.(?:next|last)-(\d+)$/.exec(name)?.[1])
    if (Number.isInteger(pid) && !isRunning(pid))
      rmSync(join(directory, name), { recursive: true, force: true })
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}
