import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import type { ClaimedTarget } from '../../lease/index.ts'
import { formatDuration } from '../../base/text/duration.ts'
import { listIfReadable } from '../../base/fs/exists.ts'
import { visibleText } from '../../base/text/escape.ts'
import { bad, type Check, fine, poor } from '../health/check.ts'

export interface ClockFacts {
  /** What the wall clock says, in milliseconds since the epoch. */
  now: number
  /** When the file system says that a file was made just then; undefined if none could be. */
  fileTime?: number
  /** What was written last in the home. */
  newest?: { path: string; at: number }
  /** How far the wall clock has gone back since a claim of this boot was made, as the clock that never jumps shows. */
  setBackMs: number
}

/** No stint was written before. */
const earliest = Date.UTC(2025, 0, 1)
/** Others may write while we look, and clocks tick in steps. */
const toleranceMs = 5000

export function judgeClock({ now, fileTime = now, newest, setBackMs }: ClockFacts): Check {
  const name = 'clock'
  const date = new Date(now).toISOString()
  const set =
    'Set it (`timedatectl set-ntp true`): ages and expiry are measured by it, across restarts and machines.'
  if (now < earliest) return bad(name, `it says ${date}`, set)
  const skew = fileTime - now
  if (Math.abs(skew) > toleranceMs)
    return poor(
      name,
      `the file system of the home is ${span(Math.abs(skew))} ${skew > 0 ? 'ahead' : 'behind'}`,
      'Set both clocks by the same time server, or STINT_HOME to a local disk.',
    )
  if (setBackMs > toleranceMs)
    return poor(name, `it was set back by ${span(setBackMs)} since this machine started`, set)
  if (newest !== undefined && newest.at - now > toleranceMs)
    return poor(
      name,
      `${visibleText(newest.path, 2000)} was written ${span(newest.at - now)} in the future: the clock was set back`,
      set,
    )
  return fine(name, date)
}

const span = (ms: number): string => formatDuration(Math.round(ms / 1000) * 1000)

/**
 * A claim has the time of both clocks. The monotonic one stands still while a machine sleeps, so the wall clock may have gained on it, but it cannot have
 * lost, unless it was set.
 */
export function setBackSince(targets: readonly ClaimedTarget[]): number {
  const lost = targets.flatMap(({ claims, observation: { now } }) =>
    claims
      .filter(({ clock }) => clock === now.clock)
      .map(({ refreshed_at, mono }) => now.mono - mono - (now.wall - refreshed_at)),
  )
  return Math.max(0, ...lost)
}

/** More are not looked at: a clock that was set back shows in the first ones, too. */
const lookedAt = 2000

/** The entry of these directories that was changed last. */
export function newestIn(home: string, directories: readonly string[]): ClockFacts['newest'] {
  const entries = directories.flatMap((directory) =>
    listIfReadable(join(home, directory))
      .slice(0, lookedAt)
      .map((name) => {
        const path = join(home, directory, name)
        return { path, at: lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }
      }),
  )
  return entries.sort((a, b) => b.at - a.at)[0]
}
