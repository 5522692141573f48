import { systemClock } from '../../base/process/clock.ts'

/** Of so many milliseconds, reading a part takes one, while nothing happens. */
const share = 500

type Outcome<Value> = { value: Value } | { error: unknown }

/**
 * A part of the state that is kept from one look to the next, for a time that grows with what reading it
 * costs: an open page takes no more than a small share of the processor. A failure is kept, too.
 */
export class Part<Value> {
  readonly #keptMs: number
  readonly #onRead: (() => void) | undefined
  #outcome: Outcome<Value> | undefined
  #dueMs = 0
  #reading: Promise<void> | undefined

  /**
   * @param keptMs how long a value is kept at least, in milliseconds
   * @param onRead if given, the old value is used while a new one is read, and this is called after that: a
   *   server that does not answer must not hold up the rest
   */
  constructor(keptMs: number, onRead?: () => void) {
    this.#keptMs = keptMs
    this.#onRead = onRead
  }

  /** Has the next `get` read anew. */
  expire(): void {
    this.#dueMs = 0
  }

  /** Whether there is a value, or a failure, of an earlier read. */
  get isRead(): boolean {
    return this.#outcome !== undefined
  }

  get isDue(): boolean {
    return systemClock.mono() >= this.#dueMs
  }

  /** The value that is kept, or a new one if that is due. */
  async get(read: () => Value | Promise<Value>): Promise<Value> {
    if (this.isDue && this.#reading === undefined)
      this.#reading = this.#read(read).finally(() => (this.#reading = undefined))
    if (this.#outcome === undefined || this.#onRead === undefined) await this.#reading
    const outcome = this.#outcome as Outcome<Value>
    if ('error' in outcome) throw outcome.error
    return outcome.value
  }

  async #read(read: () => Value | Promise<Value>): Promise<void> {
    const isFirst = this.#outcome === undefined
    // A change during the read makes the part due again.
    this.#dueMs = Number.POSITIVE_INFINITY
    const before = process.cpuUsage()
    try {
      this.#outcome = { value: await read() }
    } catch (error) {
      this.#outcome = { error }
    }
    const { user, system } = process.cpuUsage(before)
    const keptMs = Math.max(this.#keptMs, ((user + system) / 1000) * share)
    this.#dueMs = Math.min(this.#dueMs, systemClock.mono() + keptMs)
    if (!isFirst) this.#onRead?.()
  }
}
