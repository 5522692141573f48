import { closeSync, futimesSync, lstatSync } from 'node:fs'
import { openPrivateFile } from './private-file.ts'

/**
 * Limits work to once every `everyMs` across all processes: true if it is due, and then the turn is taken.
 * The modification time of the empty file `stamp` records the last turn.
 */
export function takeTurnIfDue(stamp: string, everyMs: number, now: number): boolean {
  const age = now - (lstatSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  // The clock may have been set back: a stamp from the future must not stop the work for good.
  if (age >= 0 && age < everyMs) return false
  const fd = openPrivateFile(stamp, 'a')
  try {
    futimesSync(fd, now / 1000, now / 1000)
  } finally {
    closeSync(fd)
  }
  return true
}
