/** The shortest pauses of the first in line and of those behind it, and the longest, in milliseconds. */
const shortestMs = { first: 0.1, behind: 0.5 }
const longestPauseMs = 500

/** How often a party in line looks at it, so that it is awake when its turn comes, and asleep until then. */
export class LinePace {
  #places = 0
  #tries = 0
  /** How long the line took to move by one place, and when it last moved. */
  #msPerPlace = 0.5
  #movedAtMs: number

  constructor(nowMs: number) {
    this.#movedAtMs = nowMs
  }

  /** Notes how many parties are before this one now. */
  note(places: number, nowMs: number): void {
    const moved = this.#places - places
    this.#places = places
    if (moved <= 0) return
    // After one slow hand-over, parties that expected another would oversleep, and be slow themselves.
    this.#msPerPlace = Math.min((nowMs - this.#movedAtMs) / moved, 1.3 * this.#msPerPlace)
    this.#movedAtMs = nowMs
    this.#tries = 0
  }

  /**
   * Short for the first in line and the next, however slowly the line moves: it moves as fast as they look.
   * For the others less than half of the time that the line will take, as it moved last. Then longer and
   * longer until the line moves again, for the first at most `longestFirstMs`; random, so that parties spread
   * out.
   */
  pauseMs(longestFirstMs: number, random: () => number = Math.random): number {
    const places = this.#places
    const shortest = places === 0 ? shortestMs.first : shortestMs.behind
    const firstMs = places < 2 ? shortest : Math.max(shortest, 0.3 * places * this.#msPerPlace)
    const mostMs = Math.min(longestPauseMs, longestFirstMs * Math.max(1, places))
    return Math.min(mostMs, firstMs * 1.3 ** Math.min(this.#tries++, 30)) * (0.5 + random())
  }
}
