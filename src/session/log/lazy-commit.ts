/** How long a record that was appended with `durable: false` waits for others before it is committed, in milliseconds. */
const lazyMs = 50

/** The timer that commits records appended with `durable: false`, unless a durable append or a flush does so first. */
export class LazyCommit {
  readonly #commit: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(commit: () => void) {
    this.#commit = commit
  }

  /** Starts the timer if it is not running. It is not unref'd: a program may wait for this append and nothing else. */
  schedule(): void {
    this.#timer ??= setTimeout(this.#commit, lazyMs)
  }

  /** Stops the timer, because a commit begins now. */
  cancel(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
