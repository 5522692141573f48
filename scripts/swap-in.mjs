import { readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Puts a directory where another is. A program meets the old one or the new one, never a mixture; for a moment between two
 * renames, it meets none. If another build does the same at that moment, the last one stays.
 */
export function swapIn(next, place) {
  const last = `${place}.last-${process.pid}`
  for (;;) {
    try {
      renameSync(place, last)
    } catch (error) {
      if (error.code !== 'ENOENT') throw error
    }
    try {
      renameSync(next, place)
      return
    } catch (error) {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    } finally {
      rmSync(last, { recursive: true, force: true })
    }
  }
}

/** What builds that were killed have left. */
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
