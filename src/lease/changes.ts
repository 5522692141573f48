import { after } from '../base/process/clock.ts'
import type { Register } from './register.ts'

/** How often to look without a hint, in milliseconds: the death of a holder changes no record. */
const pollMs = { first: 1, most: 500 }

/**
 * Waits for changes of a key. The first pauses are short, because a claim may be free in a moment and a
 * watcher costs more than a few looks; then a watcher wakes this waiter, with a look now and then in case the
 * system has no watchers left (inotify(7), `max_user_watches`).
 */
export class Changes {
  readonly #register: Register
  readonly #key: string
  #pauseMs = pollMs.first
  #stop: (() => void) | undefined
  #wake: () => void = () => {}

  constructor(register: Register, key: string) {
    this.#register = register
    this.#key = key
  }

  /** Resolves after a change, after a pause, or after `maxMs`. */
  async next(maxMs: number, signal?: AbortSignal): Promise<void> {
    const ms = Math.min(maxMs, this.#pauseMs * (0.5 + Math.random()))
    this.#pauseMs = Math.min(pollMs.most, this.#pauseMs * 1.5)
    if (ms > watchFromMs) this.#watch()
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve
      signal?.addEventListener('abort', () => resolve(), { once: true })
    })
    await Promise.race([woken, after(ms)])
  }

  #watch(): void {
    if (this.#stop !== undefined) return
    try {
      this.#stop = this.#register.watch(this.#key, () => this.#wake())
    } catch {
      this.#stop = () => {}
    }
  }

  [Symbol.dispose](): void {
    this.#stop?.()
  }
}

const watchFromMs = 20
