/** Keeps the newest few of many items: memory does not grow with the rest. */
export class Newest<Item> {
  readonly #limit: number
  readonly #kept: Item[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  push(item: Item): void {
    this.#kept.push(item)
    // Now and then, not each time: each cut moves all that stay.
    if (this.#kept.length > 2 * this.#limit + 1000) this.#kept.splice(0, this.#kept.length - this.#limit)
  }

  /** Oldest first. */
  get items(): Item[] {
    return this.#limit === 0 ? [] : this.#kept.slice(-this.#limit)
  }
}
