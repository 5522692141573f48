import { systemClock } from './clock.ts'

/**
 * Code may keep the event loop for about this many milliseconds at a stretch. A timer fires half of that too
 * late on average: a program keeps 98 % of the ticks of a 5 ms timer beside work that never pauses.
 */
const stretchMs = 0.2

/** When code first asked in this turn of the event loop. */
let since: number | undefined

/** Has this turn of the event loop lasted so long that its code should go on in a later one? */
export function isTurnLong(): boolean {
  const now = systemClock.mono()
  if (since === undefined) {
    since = now
    setImmediate(() => (since = undefined))
  }
  return now - since > stretchMs
}

/**
 * Lets the event loop run if this turn has lasted long. A loop of promises alone would keep timers and the
 * results of the thread pool waiting for ever.
 */
export async function giveWay(): Promise<void> {
  if (isTurnLong()) await new Promise(setImmediate)
}
