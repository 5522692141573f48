import { after, sleep, systemClock } from '../base/process/clock.ts'
import { timerMs } from '../base/text/duration.ts'
import type { Register } from './register.ts'

/**
 * The pauses of a waiter, in milliseconds. Most claims of programs are short, so it looks again at once, and
 * then less and less often: each look costs time that the holder lacks if many wait. The last pauses find a
 * holder that has died, which changes no record.
 */
const pauses = { first: 0.1, most: 500, next: (ms: number): number => ms * (ms < 1 ? 2 : 1.2) }

/** A waiter that pauses for longer watches the key. */
const watchFromMs = 50

/** Every change wakes all watchers: where a key changes often, none looks more often than this. */
const watchedPauseMs = 20

/**
 * Waits for changes of a key. A waiter looks often at first, then less and less often, and is then woken by a
 * watcher, with a look now and then in case the system has no watchers left (inotify(7), `max_user_watches`).
 */
export class Changes {
  readonly #register: Register
  readonly #key: string
  #pauseMs = pauses.first
  #lookedAtMs = Number.NEGATIVE_INFINITY
  #unwatch: (() => void) | undefined
  /** The key has changed since the last pause began: the caller may have read it before that. */
  #hasChanged = false
  #wake: () => void = () => {}

  constructor(register: Register, key: string) {
    this.#register = register
    this.#key = key
  }

  /** The wait is no longer a short one. */
  get isLong(): boolean {
    return this.#pauseMs > watchFromMs
  }

  /** Resolves after a change, after a pause that grows with each call, or after `maxMs`. */
  async next(maxMs: number, signal?: AbortSignal): Promise<void> {
    // Random, so that waiters do not look in step.
    const ms = Math.min(maxMs, this.#pauseMs * (0.5 + Math.random()))
    this.#pauseMs = Math.min(pauses.most, pauses.next(this.#pauseMs))
    if (this.isLong) this.#watch()
    if (ms < 1) await pauseBriefly(ms)
    else await this.#changeWithin(ms, signal)
  }

  /** Resolves after a change, or after `ms`. */
  async within(ms: number): Promise<void> {
    this.#watch()
    await this.#changeWithin(ms)
  }

  async #changeWithin(ms: number, signal?: AbortSignal): Promise<void> {
    const restMs = this.#lookedAtMs + watchedPauseMs * (0.5 + Math.random()) - systemClock.mono()
    if (this.#unwatch !== undefined && restMs >= 1) await after(Math.min(ms, restMs))
    await new Promise<void>((resolve) => {
      if (this.#hasChanged || signal?.aborted) return resolve()
      const timer = setTimeout(() => this.#wake(), timerMs(ms))
      this.#wake = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', this.#wake)
        resolve()
      }
      signal?.addEventListener('abort', this.#wake)
    })
    this.#hasChanged = false
    this.#lookedAtMs = systemClock.mono()
  }

  #watch(): void {
    if (this.#unwatch !== undefined) return
    try {
      this.#unwatch = this.#register.watch(this.#key, () => {
        this.#hasChanged = true
        this.#wake()
      })
    } catch {
      this.#unwatch = () => {}
    }
  }

  [Symbol.dispose](): void {
    this.#unwatch?.()
  }
}

/** A timer lasts for a millisecond at least: this thread sleeps for less, and lets the event loop turn. */
async function pauseBriefly(ms: number): Promise<void> {
  sleep(ms)
  await new Promise((resolve) => setImmediate(resolve))
}
