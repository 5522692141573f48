import { formatDuration } from '../../base/text/duration.ts'
import type { ClaimedTarget } from '../../lease/index.ts'
import { formatTime } from '../text/format.ts'
import { type Check, fail, ok, warn } from './check.ts'

/** The first version of stint is younger than this. */
const earliest = Date.UTC(2025, 0, 1)
/** Clocks tick in steps. */
const toleranceMs = 5000

/** Judges the wall clock, and how far it was set back during this boot, both in milliseconds. */
export function judgeClock(now: number, setBackMs: number): Check {
  const name = 'clock'
  const date = formatTime(now, { utc: false })
  const set =
    'Set it (`timedatectl set-ntp true`): ages and expiry are measured by it, across restarts and machines.'
  if (now < earliest) return fail(name, `it says ${date}`, set)
  if (setBackMs > toleranceMs)
    return warn(name, `it was set back by ${span(setBackMs)} since this machine started`, set)
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
