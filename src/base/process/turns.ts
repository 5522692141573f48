import { systemClock } from './clock.ts'

const turnMs = 4

/** Divides long work into short turns of the event loop: `next` waits once this turn was long enough. */
export class Turns {
  #endsAt = systemClock.mono() + turnMs

  async next(): Promise<void> {
    if (systemClock.mono() < this.#endsAt) return
    await new Promise(setImmediate)
    this.#endsAt = systemClock.mono() + turnMs
  }
}
