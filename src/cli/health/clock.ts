import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { listIfReadable } from '../../base/fs/exists.ts'
import { formatDuration } from '../../base/text/duration.ts'
import { visibleText } from '../../base/text/escape.ts'
import type { ClaimedTarget } from '../../lease/index.ts'
import { formatTime } from '../text/format.ts'
import { type Check, fail, ok, warn } from './check.ts'

/** Times in milliseconds since the epoch. */
interface ClockFacts {
  /** The wall clock. */
  now: number
  /** The time that the file system gave a file made just now; undefined if none could be made. */
  fileTime?: number
  /** The newest entry of the home. */
  newest?: { path: string; at: number }
  /** How far the wall clock was set back during this boot, measured by the monotonic clock. */
  setBackMs: number
}

/** The first version of stint is younger than this. */
const earliest = Date.UTC(2025, 0, 1)
/** Other processes may write meanwhile, and clocks tick in steps. */
const toleranceMs = 5000

export function judgeClock({ now, fileTime = now, newest, setBackMs }: ClockFacts): Check {
  const name = 'clock'
  const date = formatTime(now, { utc: false })
  const set =
    'Set it (`timedatectl set-ntp true`): ages and expiry are measured by it, across restarts and machines.'
  if (now < earliest) return fail(name, `it says ${date}`, set)
  const skew = fileTime - now
  if (Math.abs(skew) > toleranceMs)
    return warn(
      name,
      `the file system of the home is ${span(Math.abs(skew))} ${skew > 0 ? 'ahead' : 'behind'}`,
      'Set both clocks by the same time server, or STINT_HOME to a local disk.',
    )
  if (setBackMs > toleranceMs)
    return warn(name, `it was set back by ${span(setBackMs)} since this machine started`, set)
  if (newest !== undefined && newest.at - now > toleranceMs)
    return warn(
      name,
      `${visibleText(newest.path)} was written ${span(newest.at - now)} in the future: the clock was set back`,
      set,
    )
  return ok(name, date)
}

const span = (ms: number): string => formatDuration(Math.round(ms / 1000) * 1000)

/**
 * How far the wall clock was set back since the claims of this boot were made, in milliseconds. A claim has
 * the time of both clocks. The monotonic one stops while the machine is suspended, so the wall clock may gain
 * on it, but loses only if it is set back.
 */
export function setBackSince(targets: readonly ClaimedTarget[]): number {
  const lost = targets.flatMap(({ claims, observation: { now } }) =>
    claims
      .filter(({ clock }) => clock === now.clock)
      .map(({ refreshed_at, mono }) => now.mono - mono - (now.wall - refreshed_at)),
  )
  return Math.max(0, ...lost)
}

/** Entries of each directory to look at: if the clock was set back, the first ones show it, too. */
const maxEntries = 2000

/** Returns the newest entry of these directories of the home. */
export function newestIn(home: string, directories: readonly string[]): ClockFacts['newest'] {
  const entries = directories.flatMap((directory) =>
    listIfReadable(join(home, directory))
      .slice(0, maxEntries)
      .map((name) => {
        const path = join(home, directory, name)
        return { path, at: lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }
      }),
  )
  return entries.sort((a, b) => b.at - a.at)[0]
}
