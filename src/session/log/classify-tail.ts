import type { RecordHeader } from './record.ts'

/**
 * - `torn`: what follows the last record that counts was never acknowledged, or, in the last group, cannot be told from that.
 * - `damaged`: something is missing or changed that was once on disk for good.
 */
export type LogState = 'whole' | 'torn' | 'damaged'

/**
 * Tells a tear from damage, over the lines of a log as they come. Nothing is written while a sync runs, so a group is written only when all
 * earlier ones are on disk. Let L be the largest group among the intact records: a record that is bad or missing below L was once safe, and its
 * loss is damage; at or above L it may never have been acknowledged, and is a tear. What is attested elsewhere (by a snapshot, say) is safe as well.
 */
export class TailClassifier {
  #lastSeq: number
  #largestGroup = 0
  #bad = false

  constructor(after: { seq: number } = { seq: 0 }) {
    this.#lastSeq = after.seq
  }

  /** The last record that counts. */
  get lastSeq(): number {
    return this.#lastSeq
  }

  /** One line, in the order of the log; undefined if it is not intact. True if it continues what is whole so far. */
  take(header: Pick<RecordHeader, 'seq' | 'group'> | undefined): boolean {
    if (header !== undefined) this.#largestGroup = Math.max(this.#largestGroup, header.group)
    if (header?.seq !== this.#lastSeq + 1 || header.group > header.seq) this.#bad = true
    if (this.#bad) return false
    this.#lastSeq += 1
    return true
  }

  /** `attestedSeq`: the highest that is known, from elsewhere, to have been on disk. */
  verdict(attestedSeq = 0): LogState {
    const missing = this.#lastSeq + 1
    if (missing <= attestedSeq || (this.#bad && missing < this.#largestGroup)) return 'damaged'
    return this.#bad ? 'torn' : 'whole'
  }
}
