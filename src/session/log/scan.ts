import type { Later } from '../../base/fs/disk.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import type { Leftover, LogTail, ReadableMedium } from '../medium.ts'
import { type Codec, codecs } from './codec.ts'
import { formatChecksum } from './line-checksum.ts'
import { type Line, linesForwards } from './lines.ts'
import type { LogEnd, LogName } from './log-end.ts'
import { type CheckedHeader, checkRecord, isContinued, type RecordHeader } from './record.ts'

/**
 * - `torn`: the bytes after the last intact record were never acknowledged, or are part of the last group,
 *   where that cannot be told.
 * - `damaged`: a record is missing or changed that was once on disk.
 */
export type LogState = 'whole' | 'torn' | 'damaged'

/** The result of a scan: the condition of a log, and where it ends. */
export interface ScannedLog extends LogTail {
  state: LogState
  /** How many records and bytes were read. */
  records: number
  bytes: number
  /** In a torn log: the bytes to cut off. */
  torn: Leftover[]
  /** In a damaged log: the first record that is missing or changed; nothing follows if the log is cut off. */
  bad?: { seq: number; segment: string; offset: number; isCutOff: boolean }
}

export interface ScanOptions {
  /** Where to begin: the records up to it are known to be there. */
  from: LogEnd
  /** The last record that is known from outside of the log to have been on disk, at the end of the scan. */
  attestedSeq: () => number
  /**
   * Called for every intact record, in order, up to the first that is missing or damaged. A promise that it
   * returns is awaited before the next record; the line is valid only until then.
   */
  onRecord: (line: Line, header: CheckedHeader) => Later
}

/** How many bytes are checked before the event loop may run: a tenth of a millisecond. */
const stretchBytes = 32 << 10

/**
 * Reads a log from a record to its end, and classifies its tail. Its memory does not grow with the log.
 * Undefined if the log does not have the record that it should begin after.
 */
export async function scanLog(
  medium: ReadableMedium,
  log: LogName,
  { from, attestedSeq, onRecord }: ScanOptions,
): Promise<ScannedLog | undefined> {
  const scan = new Scan(codecs[log], from)
  let isFound = from.seq === 0
  for await (const region of medium.regions(log, { from: from.seq, backwards: false })) {
    let looked = 0
    for (const line of linesForwards(region)) {
      if (line.start - looked > stretchBytes) {
        looked = line.start
        await giveWay()
      }
      if (!isFound) {
        isFound = scan.isStart(line)
        continue
      }
      const header = scan.next(line)
      const applied = header && onRecord(line, header)
      if (applied !== undefined) await applied
    }
    await giveWay()
  }
  return isFound ? scan.finish(Math.max(attestedSeq(), from.seq)) : undefined
}

class Scan {
  readonly #codec: Codec
  readonly #from: LogEnd
  readonly #classifier: TailClassifier
  readonly #scanned: ScannedLog
  #bad: ScannedLog['bad']
  #rest: Leftover[] = []
  #lastCrc: number | undefined
  /** The scan before the lines that count only together with one that has not come yet. */
  #unfinished: Unfinished | undefined

  constructor(codec: Codec, from: LogEnd) {
    this.#codec = codec
    this.#from = from
    this.#classifier = new TailClassifier(from)
    this.#scanned = {
      state: 'whole',
      end: { ...from },
      segment: '',
      offset: 0,
      records: 0,
      bytes: 0,
      torn: [],
    }
  }

  /** Is this the record that the scan begins after? */
  isStart(line: Line): boolean {
    const header = line.ended ? checkRecord(line.chunk, line.start, line.end) : undefined
    if (header?.seq !== this.#from.seq || this.#codec.sumOf(line.bytes) !== this.#from.sum) return false
    this.#scanned.segment = line.region.segment
    this.#scanned.offset = line.next
    return true
  }

  /** Adds a line. Returns its header if it continues the intact records. */
  next(line: Line): CheckedHeader | undefined {
    const { end } = this.#scanned
    const { follows } = this.#codec
    const header = line.ended ? checkRecord(line.chunk, line.start, line.end) : undefined
    const isIntact = header !== undefined && (follows === undefined || follows(line.bytes, end.sum))
    const continues = this.#classifier.next(isIntact || this.#bad !== undefined ? header : undefined)
    if (!continues || header === undefined) {
      this.#leave(line)
      return undefined
    }
    if (follows === undefined && isContinued(line)) this.#unfinished ??= this.#before(line)
    else this.#unfinished = undefined
    end.seq = header.seq
    // In a log without a chain, only the sum of the last line is needed.
    if (follows === undefined) this.#lastCrc = header.crc
    else end.sum = this.#codec.sumOf(line.bytes)
    this.#scanned.segment = line.region.segment
    this.#scanned.offset = line.next
    this.#scanned.records += 1
    this.#scanned.bytes += line.next - line.offset
    return header
  }

  /** Adds a line to what is left over. */
  #leave(line: Line): void {
    const { segment } = line.region
    this.#bad ??= { seq: this.#classifier.lastSeq + 1, segment, offset: line.offset, isCutOff: false }
    const last = this.#rest.at(-1)
    if (last?.segment === segment) last.bytes = line.next - last.offset
    else this.#rest.push({ segment, offset: line.offset, bytes: line.next - line.offset })
  }

  #before(line: Line): Unfinished {
    const scanned = { ...this.#scanned, end: { ...this.#scanned.end } }
    const rest = { segment: line.region.segment, offset: line.offset, bytes: 0 }
    return { scanned, lastCrc: this.#lastCrc, rest }
  }

  finish(attestedSeq: number): ScannedLog {
    let scanned = this.#scanned
    scanned.state = this.#classifier.classify(attestedSeq)
    const unfinished = this.#unfinished
    if (unfinished !== undefined && scanned.state !== 'damaged' && scanned.end.seq > attestedSeq) {
      // None of these lines was acknowledged: their append is not complete.
      this.#joinRest(unfinished.rest, scanned)
      scanned = { ...unfinished.scanned, state: 'torn' }
      this.#lastCrc = unfinished.lastCrc
    }
    const { end, segment, offset } = scanned
    if (this.#lastCrc !== undefined) end.sum = formatChecksum(this.#lastCrc)
    if (scanned.state === 'torn') scanned.torn = this.#rest
    if (scanned.state === 'damaged')
      scanned.bad = this.#bad ?? { seq: end.seq + 1, segment, offset, isCutOff: true }
    return scanned
  }

  /** Adds the lines of an append that is not complete, all in one segment, to the bytes to cut off. */
  #joinRest(rest: Leftover, { offset }: ScannedLog): void {
    const [first, ...others] = this.#rest
    if (first?.segment === rest.segment)
      this.#rest = [{ ...rest, bytes: first.offset + first.bytes - rest.offset }, ...others]
    else this.#rest.unshift({ ...rest, bytes: offset - rest.offset })
  }
}

/** A scan before lines that count only together, and where the first of them is. */
interface Unfinished {
  scanned: ScannedLog
  lastCrc: number | undefined
  rest: Leftover
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
