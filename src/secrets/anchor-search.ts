/**
 * Searches a text for many short strings at once (Wu and Manber). It looks up two characters at a time; most
 * pairs rule out a match in the next few positions, which it skips: the more, the longer the shortest string.
 */
export class AnchorSearch {
  readonly #shortest: number
  readonly #mask: number
  /** Characters to skip after a pair; 0 if a string of the pair's bucket may start here. */
  readonly #jumps: Uint8Array
  readonly #buckets = new Map<number, number[]>()
  readonly #anchors: readonly string[]

  /** Each anchor needs at least two characters. */
  constructor(anchors: readonly string[]) {
    this.#anchors = anchors
    this.#shortest = anchors.reduce((shortest, { length }) => Math.min(shortest, length), 255)
    // A nearly full table allows no skips.
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

  /** True if the text contains any anchor. */
  some(text: string): boolean {
    return this.#scan(text, undefined)
  }

  /** The indexes of the anchors in the text. */
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

  /** Checks the anchors of a bucket. True ends the scan: one was found, and no indexes are wanted. */
  #visit(text: string, start: number, pair: number, found: Set<number> | undefined): boolean {
    for (const index of this.#buckets.get(pair) ?? []) {
      if (!text.startsWith(this.#anchors[index] ?? '', start)) continue
      if (found === undefined) return true
      found.add(index)
    }
    return false
  }
}
