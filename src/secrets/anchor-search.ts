/**
 * Finds many short texts in a long one at once, after Wu and Manber: looks at two characters at a time, and most pairs say
 * that the next few places cannot end a match. The longer the shortest text, the further it jumps.
 */
export class AnchorSearch {
  readonly #shortest: number
  readonly #mask: number
  /** How far to go on after a pair; 0: one of the bucket may begin here. */
  readonly #jumps: Uint8Array
  readonly #buckets = new Map<number, number[]>()
  readonly #anchors: readonly string[]

  /** Each of two characters or more. */
  constructor(anchors: readonly string[]) {
    this.#anchors = anchors
    this.#shortest = anchors.reduce((shortest, { length }) => Math.min(shortest, length), 255)
    // A table that is nearly full lets nothing jump.
    this.#mask = (anchors.length > 512 ? 1 << 16 : 1 << 12) - 1
    this.#jumps = new Uint8Array(this.#mask + 1).fill(this.#shortest - 1)
    anchors.forEach((anchor, index) => this.#enter(anchor, index))
  }

  #enter(anchor: string, index: number): void {
    const last = this.#shortest - 1
    for (let at = 1; at <= last; at++) {
      const pair = this.#pair(anchor, at)
      this.#jumps[pair] = Math.min(this.#jumps[pair] ?? 0, last - at)
    }
    const pair = this.#pair(anchor, last)
    const bucket = this.#buckets.get(pair)
    if (bucket) bucket.push(index)
    else this.#buckets.set(pair, [index])
  }

  #pair(text: string, at: number): number {
    return ((text.charCodeAt(at - 1) << 5) ^ text.charCodeAt(at)) & this.#mask
  }

  /** Whether any is in the text. */
  some(text: string): boolean {
    return this.#scan(text, undefined)
  }

  /** Which ones are, by their index. */
  all(text: string): Set<number> {
    const found = new Set<number>()
    this.#scan(text, found)
    return found
  }

  #scan(text: string, found: Set<number> | undefined): boolean {
    if (this.#anchors.length === 0) return false
    const jumps = this.#jumps
    const mask = this.#mask
    const last = this.#shortest - 1
    for (let at = last; at < text.length;) {
      const pair = ((text.charCodeAt(at - 1) << 5) ^ text.charCodeAt(at)) & mask
      const jump = jumps[pair] ?? 0
      if (jump === 0 && this.#visit(text, at - last, pair, found)) return true
      at += jump || 1
    }
    return false
  }

  /** True to stop: one was found, and nobody asked which. */
  #visit(text: string, start: number, pair: number, found: Set<number> | undefined): boolean {
    for (const index of this.#buckets.get(pair) ?? []) {
      if (!text.startsWith(this.#anchors[index] ?? '', start)) continue
      if (found === undefined) return true
      found.add(index)
    }
    return false
  }
}
