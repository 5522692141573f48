import { runToEnd } from '../../base/process/run-generator.ts'
import type { Codec } from './codec.ts'
import { type Line, linesFrom } from './lines.ts'
import { type LogFiles, openSegment, type OpenSegment, listSegments } from './log-files.ts'
import type { Position } from './position.ts'
import { type CheckedHeader, checkRecord } from './record.ts'
import { formatChecksum } from './line-checksum.ts'
import type { Segment } from './segment.ts'
import { TailClassifier, type LogState } from './classify-tail.ts'

/** Bytes of a file that do not count. */
export interface Leftover {
  segment: string
  offset: number
  bytes: number
}

/** What a look at every line of a log has shown. */
export interface Scanned {
  state: LogState
  /** After the last record that counts. */
  end: Position
  /** Records and bytes that were read. */
  records: number
  bytes: number
  /** Torn: what follows was never acknowledged, or, in the last group, cannot be told from that. */
  torn: Leftover[]
  /** What a writer left that had lost its lock, or whose write had failed. */
  ignored: Leftover[]
  /** Damaged: the first record that is missing or changed. */
  bad?: { seq: number; segment: string; offset: number }
}

export interface ScanOptions {
  /** Begin here; what comes before is attested. */
  from: Position
  /** The highest record that is known, from elsewhere, to have been on disk. */
  attestedSeq?: number
  /** Every record that counts, in order, as long as all is whole. */
  take?: (line: Line, header: CheckedHeader) => void
}

/** So much is read in one step: a few hundredths of a second. */
const stepBytes = 16 << 20

/** Reads a log from a position to its end, and judges what it finds. Its memory does not grow with the log. */
export const scanLog = (place: LogFiles, options: ScanOptions): Scanned => runToEnd(scanSteps(place, options))

/** The same in steps, for those who must give way to others meanwhile. */
export function* scanSteps(
  place: LogFiles,
  { from, attestedSeq = 0, take }: ScanOptions,
): Generator<void, Scanned> {
  const segments = listSegments(place)
  const start = segments.findIndex(({ name }) => name === from.segment)
  const scan = new Scan(place.codec, from, take)
  for (const [i, segment] of segments.slice(Math.max(0, start)).entries()) {
    using file = openSegment(place, segment.name)
    let at = i === 0 && start >= 0 ? from.offset : 0
    for (;;) {
      // Each step reads anew: what was in memory before others had their turn may be filled in by now.
      const next = scan.readOn(file, segment, at, at + stepBytes)
      if (next === undefined) break
      at = next
      yield
    }
  }
  return scan.judge(Math.max(attestedSeq, from.seq, namedSeq(segments)))
}

class Scan {
  readonly #codec: Codec
  readonly #take: ScanOptions['take']
  readonly #judge: TailClassifier
  readonly #scanned: Scanned
  #rest: Leftover[] = []
  #bad: Scanned['bad']
  #lastCrc: number | undefined

  constructor(codec: Codec, from: Position, take: ScanOptions['take']) {
    this.#codec = codec
    this.#take = take
    this.#judge = new TailClassifier(from)
    this.#scanned = { state: 'whole', end: { ...from }, records: 0, bytes: 0, torn: [], ignored: [] }
  }

  /** Takes the lines of a segment from one place on, up to another. Returns where to go on; undefined if there is nothing more in it that matters. */
  readOn(file: OpenSegment, segment: Segment, from: number, to: number): number | undefined {
    const { name, until } = segment
    const judge = this.#judge
    for (const line of linesFrom(file.read, from)) {
      if (line.offset >= to) return line.offset
      if (this.#bad === undefined && judge.lastSeq >= until - 1) {
        this.#scanned.ignored.push(leftover(file, name, line))
        return undefined
      }
      this.#line(line, name, file)
    }
    return undefined
  }

  #line(line: Line, segment: string, file: OpenSegment): void {
    const { end } = this.#scanned
    const { follows } = this.#codec
    const header = line.ended ? checkRecord(line.chunk, line.start, line.end) : undefined
    const intact = header !== undefined && (follows === undefined || follows(line.bytes, end.tail))
    if (this.#judge.take(intact || this.#bad !== undefined ? header : undefined) && header !== undefined) {
      end.seq = header.seq
      end.segment = segment
      end.offset = line.next
      // Where lines need not follow each other, only the last one's is asked for.
      if (follows === undefined) this.#lastCrc = header.crc
      else end.tail = this.#codec.tailOf(line.bytes)
      this.#scanned.records += 1
      this.#scanned.bytes += line.next - line.offset
      this.#take?.(line, header)
    } else if (this.#bad === undefined) {
      this.#bad = { seq: this.#judge.lastSeq + 1, segment, offset: line.offset }
      this.#rest = [leftover(file, segment, line)]
    } else if (this.#rest.at(-1)?.segment !== segment) {
      this.#rest.push(leftover(file, segment, line))
    }
  }

  judge(attestedSeq: number): Scanned {
    const scanned = this.#scanned
    const { end } = scanned
    if (this.#lastCrc !== undefined) end.tail = formatChecksum(this.#lastCrc)
    scanned.state = this.#judge.verdict(attestedSeq)
    if (scanned.state === 'torn') scanned.torn = this.#rest
    if (scanned.state === 'damaged')
      scanned.bad = this.#bad ?? { seq: end.seq + 1, segment: end.segment, offset: end.offset }
    return scanned
  }
}

/** A file from a line on. */
const leftover = (file: OpenSegment, segment: string, { offset }: Line): Leftover => ({
  segment,
  offset,
  bytes: file.size() - offset,
})

/** A segment is begun only when everything before it is on disk. */
const namedSeq = (segments: readonly Segment[]): number => {
  let highest = 0
  for (const { firstSeq } of segments) highest = Math.max(highest, firstSeq - 1)
  return highest
}
