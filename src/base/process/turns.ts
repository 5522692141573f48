import { systemClock } from './clock.ts'

const turnMs = 4

/** Divides long work into short turns of the event loop: awaits the next turn once this one was long enough. */
export class Turns {
  #endsAt = systemClock.mono() + turnMs

  async next(): Promise<void> {
    if (systemClock.mono() < this.#endsAt) return
    await new Promise(setImmediate)
    this.#endsAt = systemClock.mono() + turnMs
  }
}
