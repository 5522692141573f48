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

const entriesPerStep = 256
/** A file system under load may need this many milliseconds for a few entries. */
const stepMs = 20

/**
 * Tells a walk over files when to yield: asked after each entry, it says yes after every few hundred, and
 * sooner where they take long, so that a signal is heard between two steps.
 */
export function stepEnds(): () => boolean {
  let entries = 0
  let since = systemClock.mono()
  return () => {
    entries += 1
    const now = systemClock.mono()
    if (entries % entriesPerStep !== 0 && now - since < stepMs) return false
    since = now
    return true
  }
}

/** Runs a stepwise operation to its end. */
export function runToEnd<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/**
 * Runs a stepwise operation to its end, and lets the event loop run between steps. `onTurn` is called before
 * each step; if it throws, the operation ends, and closes the files that it has open.
 */
export async function runInTurns<Result>(
  steps: Generator<void, Result>,
  onTurn: () => void = () => {},
): Promise<Result> {
  try {
    for (;;) {
      // Before the first step, too: short operations in a row would keep the event loop as one long one does.
      await giveWay()
      onTurn()
      const step = steps.next()
      if (step.done) return step.value
    }
  } finally {
    steps.return(undefined as never)
  }
}
