import type { RecordHeader } from './record.ts'

/** What is wrong with the end, or the middle, of a journal. */
export type JournalVerdict =
  | { state: 'whole'; lastSeq: number; end: number }
  /** What follows `end` was never acknowledged, or, in the last group, cannot be told from that. */
  | { state: 'torn'; lastSeq: number; end: number }
  /** Something is missing or changed that was once on disk for good: `badSeq` at `badOffset`. */
  | { state: 'damaged'; lastSeq: number; end: number; badSeq: number; badOffset: number }

/**
 * Tells a tear from damage, over the lines of a journal as they come. Nothing is written while a sync runs, so a group is written only when all
 * earlier ones are on disk. Let L be the largest group among the intact records: a record that is bad or missing below L was once safe, and its
 * loss is damage; at or above L it may never have been acknowledged, and is a tear. What is attested elsewhere (by a snapshot, say) is safe as well.
 */
export class JournalJudge {
  #lastSeq: number
  #end: number
  #largestGroup = 0
  #bad: { seq: number; offset: number } | undefined

  constructor(after: { seq: number; offset: number } = { seq: 0, offset: 0 }) {
    this.#lastSeq = after.seq
    this.#end = after.offset
  }

  /** One line, in the order of the file; `header` is undefined if it is not intact. True if it continues what is whole so far. */
  take(header: RecordHeader | undefined, offset: number, nextOffset: number): boolean {
    if (header !== undefined) this.#largestGroup = Math.max(this.#largestGroup, header.group)
    if (this.#bad !== undefined) return false
    if (header?.seq !== this.#lastSeq + 1 || header.group > header.seq) {
      this.#bad = { seq: this.#lastSeq + 1, offset }
      return false
    }
    this.#lastSeq = header.seq
    this.#end = nextOffset
    return true
  }

  /** `attestedSeq`: the highest that is known, from elsewhere, to have been on disk. */
  verdict(attestedSeq = 0): JournalVerdict {
    const [lastSeq, end] = [this.#lastSeq, this.#end]
    const missing = lastSeq + 1
    if (missing <= attestedSeq || (this.#bad !== undefined && this.#bad.seq < this.#largestGroup)) {
      return { state: 'damaged', lastSeq, end, badSeq: missing, badOffset: this.#bad?.offset ?? end }
    }
    return { state: this.#bad === undefined ? 'whole' : 'torn', lastSeq, end }
  }
}
