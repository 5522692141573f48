import { sleep, systemClock } from '../base/process/clock.ts'
import { timerMs } from '../base/text/duration.ts'
import type { Register } from './register.ts'

/** For so long a waiter looks again at once: most claims of programs are short, and a timer takes longer. */
const hastyMs = 5
/** The pauses of a hasty waiter, in milliseconds: random, so that waiters do not look in step. */
const hastyPauseMs = { least: 0.05, most: 0.4 }

/** The pauses after that; the last ones also find a holder that has died, which changes no record. */
const pauseMs = { first: 1, growth: 1.3, most: 500 }

/** A waiter that pauses for longer watches the key. */
const watchFromMs = 50

/**
 * Waits for changes of a key. A waiter looks often at first, then less and less often, and is then woken by a
 * watcher, with a look now and then in case the system has no watchers left (inotify(7), `max_user_watches`).
 * Many watchers would be woken together by every change, so no waiter watches a key that changes often.
 */
export class Changes {
  readonly #register: Register
  readonly #key: string
  readonly #startedAtMs = systemClock.mono()
  #pauseMs = pauseMs.first
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
    if (systemClock.mono() - this.#startedAtMs < hastyMs) return await hastyPause()
    const ms = Math.min(maxMs, this.#pauseMs * (0.5 + Math.random()))
    this.#pauseMs = Math.min(pauseMs.most, this.#pauseMs * pauseMs.growth)
    if (this.isLong) this.#watch()
    await this.#changeWithin(ms, signal)
  }

  /** Resolves after a change, or after `ms`. */
  async within(ms: number): Promise<void> {
    this.#watch()
    await this.#changeWithin(ms)
  }

  async #changeWithin(ms: number, signal?: AbortSignal): Promise<void> {
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
async function hastyPause(): Promise<void> {
  sleep(hastyPauseMs.least + Math.random() * (hastyPauseMs.most - hastyPauseMs.least))
  await new Promise((resolve) => setImmediate(resolve))
}
