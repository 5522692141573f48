import { closeSync, futimesSync, lstatSync } from 'node:fs'
import { openPrivateFile } from './private-file.ts'

/**
 * For what is done at most every so often, by all processes together: true if it is time again, and then the turn is taken. The stamp, an empty file, says
 * by its time when the last one was.
 */
export function takeTurnIfDue(stamp: string, everyMs: number, now: number): boolean {
  const age = now - (lstatSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  // A stamp from the future (a clock that was set back) must not stop this for good.
  if (age >= 0 && age < everyMs) return false
  const fd = openPrivateFile(stamp, 'a')
  try {
    futimesSync(fd, now / 1000, now / 1000)
  } finally {
    closeSync(fd)
  }
  return true
}
