import type { Later } from '../../base/fs/disk.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import type { Codec } from './codec.ts'
import { formatChecksum } from './line-checksum.ts'
import { type Line, linesFrom } from './lines.ts'
import type { Position } from './log-end.ts'
import { listSegments, type LogFiles, openSegment, type OpenSegment, type Segment } from './log-files.ts'
import { type CheckedHeader, checkRecord, isContinued, type RecordHeader } from './record.ts'

/**
 * - `torn`: the bytes after the last intact record were never acknowledged, or are part of the last group,
 *   where that cannot be told.
 * - `damaged`: a record is missing or changed that was once on disk.
 */
export type LogState = 'whole' | 'torn' | 'damaged'

/** Bytes at the end of a segment that are not read as records. */
export interface Leftover {
  segment: string
  offset: number
  bytes: number
}

/** The result of a scan. */
export interface Scanned {
  state: LogState
  /** The position after the last intact record. */
  end: Position
  /** How many records and bytes were read. */
  records: number
  bytes: number
  /** In a torn log: the bytes to cut off. */
  torn: Leftover[]
  /**
   * Bytes of a writer that had lost its lock, or whose write had failed. Segments that another one supersedes
   * as a whole are not read; the next writer removes them.
   */
  ignored: Leftover[]
  /** In a damaged log: the first record that is missing or changed. */
  bad?: { seq: number; segment: string; offset: number }
}

export interface ScanOptions {
  /** Where to begin; the records before it are attested. */
  from: Position
  /** The last record that is known from outside of the log to have been on disk. */
  attestedSeq?: number
  /**
   * Called for every intact record, in order, up to the first that is missing or damaged. A promise that it
   * returns is awaited before the next record; the line is valid only until it returns.
   */
  onRecord?: (line: Line, header: CheckedHeader) => Later
}

/** How much is checked at a stretch: a tenth of a millisecond. More is read, for the end of the last line. */
const stretchBytes = 32 << 10
const chunkBytes = 40 << 10

/** Reads a log from a position to its end, and classifies its tail. Its memory does not grow with the log. */
export async function scanLog(
  files: LogFiles,
  { from, attestedSeq = 0, onRecord }: ScanOptions,
): Promise<Scanned> {
  const segments = listSegments(files)
  const start = segments.findIndex(({ name }) => name === from.segment)
  const scan = new Scan(files.codec, from, onRecord)
  for (const [i, segment] of segments.slice(Math.max(0, start)).entries()) {
    using file = openSegment(files, segment.name)
    let at = i === 0 && start >= 0 ? from.offset : 0
    for (;;) {
      // Each stretch reads from the file again: another process may have written since the last one.
      const next = await scan.readOn(file, segment, at, at + stretchBytes)
      if (next === undefined) break
      at = next
      await giveWay()
    }
  }
  return scan.finish(Math.max(attestedSeq, from.seq, namedSeq(segments)))
}

class Scan {
  readonly #codec: Codec
  readonly #onRecord: ScanOptions['onRecord']
  readonly #classifier: TailClassifier
  readonly #scanned: Scanned
  readonly #chunk = Buffer.allocUnsafe(chunkBytes)
  #rest: Leftover[] = []
  #bad: Scanned['bad']
  #lastCrc: number | undefined
  /** Where the log ended before the lines that count only together with one that has not come yet. */
  #unfinished: Unfinished | undefined

  constructor(codec: Codec, from: Position, onRecord: ScanOptions['onRecord']) {
    this.#codec = codec
    this.#onRecord = onRecord
    this.#classifier = new TailClassifier(from)
    this.#scanned = { state: 'whole', end: { ...from }, records: 0, bytes: 0, torn: [], ignored: [] }
  }

  /** Reads the lines between two offsets. Returns where to go on; undefined at the end of the segment. */
  async readOn(file: OpenSegment, segment: Segment, from: number, to: number): Promise<number | undefined> {
    const { name, until } = segment
    const classifier = this.#classifier
    for (const line of linesFrom(file.read, from, this.#chunk)) {
      if (line.offset >= to) return line.offset
      if (this.#bad === undefined && classifier.lastSeq >= until - 1) {
        this.#scanned.ignored.push(leftover(file, name, line))
        return undefined
      }
      const applied = this.#line(line, name, file)
      if (applied === undefined) continue
      const { next } = line
      await applied
      // What was read ahead may be out of date.
      return next
    }
    return undefined
  }

  #line(line: Line, segment: string, file: OpenSegment): Later {
    const { end } = this.#scanned
    const { follows } = this.#codec
    const header = line.ended ? checkRecord(line.chunk, line.start, line.end) : undefined
    const intact = header !== undefined && (follows === undefined || follows(line.bytes, end.sum))
    if (
      this.#classifier.next(intact || this.#bad !== undefined ? header : undefined) &&
      header !== undefined
    ) {
      if (follows === undefined && isContinued(line)) this.#unfinished ??= this.#before(line, segment, file)
      else this.#unfinished = undefined
      end.seq = header.seq
      end.segment = segment
      end.offset = line.next
      // In a log without a chain, only the sum of the last line is needed.
      if (follows === undefined) this.#lastCrc = header.crc
      else end.sum = this.#codec.sumOf(line.bytes)
      this.#scanned.records += 1
      this.#scanned.bytes += line.next - line.offset
      return this.#onRecord?.(line, header)
    } else if (this.#bad === undefined) {
      this.#bad = { seq: this.#classifier.lastSeq + 1, segment, offset: line.offset }
      this.#rest = [leftover(file, segment, line)]
    } else if (this.#rest.at(-1)?.segment !== segment) {
      this.#rest.push(leftover(file, segment, line))
    }
  }

  #before(line: Line, segment: string, file: OpenSegment): Unfinished {
    const { end, records, bytes } = this.#scanned
    return { end: { ...end }, records, bytes, lastCrc: this.#lastCrc, rest: leftover(file, segment, line) }
  }

  finish(attestedSeq: number): Scanned {
    const scanned = this.#scanned
    const { end } = scanned
    scanned.state = this.#classifier.classify(attestedSeq)
    if (this.#unfinished !== undefined && scanned.state !== 'damaged' && end.seq > attestedSeq)
      this.#dropUnfinished(this.#unfinished)
    if (this.#lastCrc !== undefined) end.sum = formatChecksum(this.#lastCrc)
    if (scanned.state === 'torn') scanned.torn = this.#rest
    if (scanned.state === 'damaged')
      scanned.bad = this.#bad ?? { seq: end.seq + 1, segment: end.segment, offset: end.offset }
    return scanned
  }

  /** Treats lines whose append is not complete as a torn tail: none of them was acknowledged. */
  #dropUnfinished({ end, records, bytes, lastCrc, rest }: Unfinished): void {
    Object.assign(this.#scanned.end, end)
    Object.assign(this.#scanned, { records, bytes, state: 'torn' })
    this.#lastCrc = lastCrc
    this.#rest = [rest, ...this.#rest.filter(({ segment }) => segment !== rest.segment)]
  }
}

/** The state of a scan before lines that count only together, and the bytes from the first of them on. */
interface Unfinished extends Pick<Scanned, 'end' | 'records' | 'bytes'> {
  lastCrc: number | undefined
  rest: Leftover
}

/** The rest of a segment, from a line on. */
const leftover = (file: OpenSegment, segment: string, { offset }: Line): Leftover => ({
  segment,
  offset,
  bytes: file.size() - offset,
})

/** The last record that segment names attest: a segment begins when all records before it are on disk. */
const namedSeq = (segments: readonly Segment[]): number => {
  let highest = 0
  for (const { firstSeq } of segments) highest = Math.max(highest, firstSeq - 1)
  return highest
}

/**
 * Tells a torn tail from damage, line by line. The writer syncs each group before it writes the next, so all
 * groups before the last one were on disk. Let L be the largest `group` of the intact records: a record below
 * L that is missing or changed was acknowledged, and its loss is damage; from L on it may never have been
 * acknowledged, and the tail is torn. A record that is attested elsewhere, by a snapshot for example, was on
 * disk as well.
 */
export class TailClassifier {
  #lastSeq: number
  #largestGroup = 0
  #isBroken = false

  constructor(after: { seq: number } = { seq: 0 }) {
    this.#lastSeq = after.seq
  }

  /** The last record before which none is missing or changed. */
  get lastSeq(): number {
    return this.#lastSeq
  }

  /** Adds a line; undefined if it is not intact. Returns whether it continues the intact records. */
  next(header: Pick<RecordHeader, 'seq' | 'group'> | undefined): boolean {
    if (header !== undefined) this.#largestGroup = Math.max(this.#largestGroup, header.group)
    if (header?.seq !== this.#lastSeq + 1 || header.group > header.seq) this.#isBroken = true
    if (this.#isBroken) return false
    this.#lastSeq += 1
    return true
  }

  /** `attestedSeq`: the last record that is known from elsewhere to have been on disk. */
  classify(attestedSeq = 0): LogState {
    const missing = this.#lastSeq + 1
    if (missing <= attestedSeq || (this.#isBroken && missing < this.#largestGroup)) return 'damaged'
    return this.#isBroken ? 'torn' : 'whole'
  }
}
