import { timerMs } from '../base/text/duration.ts'
import type { Register } from './register.ts'

/** How often to look without a hint, in milliseconds: the death of a holder changes no record. */
const pollMs = { first: 1, most: 500 }

/** A pause that is longer than this is watched: a watcher costs more than a few looks. */
const watchFromMs = 20

/**
 * Waits for changes of a key. The first pauses are short, because a claim may be free in a moment; then a
 * watcher wakes this waiter, with a look now and then in case the system has no watchers left (inotify(7),
 * `max_user_watches`).
 */
export class Changes {
  readonly #register: Register
  readonly #key: string
  #pauseMs = pollMs.first
  #unwatch: (() => void) | undefined
  /** The key has changed since the last pause began: the caller may have read it before that. */
  #hasChanged = false
  #wake: () => void = () => {}

  constructor(register: Register, key: string) {
    this.#register = register
    this.#key = key
  }

  /** Resolves after a change, after a pause that grows with each call, or after `maxMs`. */
  async next(maxMs: number, signal?: AbortSignal): Promise<void> {
    const ms = Math.min(maxMs, this.#pauseMs * (0.5 + Math.random()))
    this.#pauseMs = Math.min(pollMs.most, this.#pauseMs * 1.5)
    if (ms > watchFromMs) this.#watch()
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
