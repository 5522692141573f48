import { systemClock } from './clock.ts'
import { giveWay } from './event-loop.ts'

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
 * Runs a stepwise operation to its end, and lets the event loop run between steps. Throws the signal's reason
 * at the next step after it was aborted.
 */
export async function runInTurns<Result>(
  steps: Generator<void, Result>,
  signal?: AbortSignal,
): Promise<Result> {
  for (;;) {
    // Before the first step, too: short operations in a row would keep the event loop as one long one does.
    await giveWay()
    if (signal?.aborted) {
      // The operation closes the files that it has open.
      steps.return(undefined as never)
      throw signal.reason
    }
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** Carries out the steps that a generator yields, such as the calls of a register of leases. */
interface StepPerformer<Step> {
  perform(step: Step): Promise<unknown>
  /** Absent if a step must wait. */
  performSync?(step: Step): unknown
}

/** Runs steps to their end without yielding to the event loop. */
export function runSync<Step, Result>(
  performer: StepPerformer<Step>,
  steps: Generator<Step, Result, unknown>,
): Result {
  if (performer.performSync === undefined) throw new TypeError('this register has no synchronous form')
  let at = steps.next()
  while (!at.done) {
    let answer: unknown
    try {
      answer = performer.performSync(at.value)
    } catch (error) {
      at = steps.throw(error)
      continue
    }
    at = steps.next(answer)
  }
  return at.value
}

/** Runs steps to their end, awaiting each one. */
export async function runAsync<Step, Result>(
  performer: StepPerformer<Step>,
  steps: Generator<Step, Result, unknown>,
): Promise<Result> {
  let at = steps.next()
  while (!at.done) {
    let answer: unknown
    try {
      answer = await performer.perform(at.value)
    } catch (error) {
      at = steps.throw(error)
      continue
    }
    at = steps.next(answer)
  }
  return at.value
}
