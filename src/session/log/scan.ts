import type { Later } from '../../base/fs/disk.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import type { Leftover, LogTail, ReadableMedium } from '../medium.ts'
import { type Codec, codecs, type LogEnd, type LogName } from './codec.ts'
import { type CheckedHeader, type Line, linesForwards } from './record.ts'

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

interface ScanOptions {
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
      const { header } = line
      if (!isFound) {
        isFound = scan.isStart(line, header)
        continue
      }
      if (!scan.add(line, header)) continue
      const applied = onRecord(line, header as CheckedHeader)
      if (applied !== undefined) await applied
    }
    await giveWay()
  }
  return isFound ? scan.finish(Math.max(attestedSeq(), from.seq)) : undefined
}

/**
 * Tells a torn tail from damage, line by line. The writer syncs each group before it writes the next, so all
 * groups before the last one were on disk. Let L be the largest `group` of the intact records: a record below
 * L that is missing or changed was acknowledged, and its loss is damage; from L on it may never have been
 * acknowledged, and the tail is torn. A record that is attested elsewhere, by a snapshot for example, was on
 * disk as well.
 */
class Scan {
  readonly #codec: Codec
  readonly #from: LogEnd
  readonly #scanned: ScannedLog
  #largestGroup = 0
  /** Everything from the first line on that does not continue the intact records. */
  #rest: Leftover[] = []
  /** The scan before the lines that count only together with one that has not come yet. */
  #unfinished: { scanned: ScannedLog; rest: Leftover } | undefined

  constructor(codec: Codec, from: LogEnd) {
    this.#codec = codec
    this.#from = from
    const end = { ...from }
    this.#scanned = { state: 'whole', end, segment: '', offset: 0, records: 0, bytes: 0, torn: [] }
  }

  /** Is this the record that the scan begins after? */
  isStart(line: Line, header: CheckedHeader | undefined): boolean {
    if (header?.seq !== this.#from.seq || this.#codec.sumOf(line.bytes) !== this.#from.sum) return false
    this.#scanned.segment = line.region.segment
    this.#scanned.offset = line.next
    return true
  }

  /** Adds a line. Returns whether it continues the intact records. */
  add(line: Line, header: CheckedHeader | undefined): boolean {
    const scanned = this.#scanned
    const isBroken = this.#rest.length > 0
    const { follows, sumOf } = this.#codec
    const isChained = isBroken || follows === undefined || follows(line.bytes, scanned.end.sum)
    const isIntact = header !== undefined && isChained
    if (isIntact) this.#largestGroup = Math.max(this.#largestGroup, header.group)
    const isNext = isIntact && header.seq === scanned.end.seq + 1 && header.group <= header.seq
    if (isBroken || !isNext) {
      this.#leave(line)
      return false
    }
    if (!header.continued) this.#unfinished = undefined
    else this.#unfinished ??= this.#before(line)
    scanned.end = { seq: header.seq, sum: follows === undefined ? header.crc : sumOf(line.bytes) }
    scanned.segment = line.region.segment
    scanned.offset = line.next
    scanned.records += 1
    scanned.bytes += line.next - line.offset
    return true
  }

  /** Adds a line to what is left over. */
  #leave(line: Line): void {
    const { segment } = line.region
    const last = this.#rest.at(-1)
    if (last?.segment === segment) last.bytes = line.next - last.offset
    else this.#rest.push({ segment, offset: line.offset, bytes: line.next - line.offset })
  }

  #before(line: Line): { scanned: ScannedLog; rest: Leftover } {
    const rest = { segment: line.region.segment, offset: line.offset, bytes: 0 }
    return { scanned: { ...this.#scanned }, rest }
  }

  finish(attestedSeq: number): ScannedLog {
    const scanned = this.#scanned
    const { seq } = scanned.end
    const [rest] = this.#rest
    if (seq < attestedSeq || (rest !== undefined && seq + 1 < this.#largestGroup)) {
      const { segment, offset } = rest ?? scanned
      return { ...scanned, state: 'damaged', bad: { seq: seq + 1, segment, offset, isCutOff: !rest } }
    }
    // None of these lines was acknowledged: their append is not complete.
    const unfinished = seq > attestedSeq ? this.#unfinished : undefined
    if (unfinished !== undefined) this.#joinRest(unfinished.rest)
    const state = this.#rest.length > 0 ? 'torn' : 'whole'
    return { ...(unfinished?.scanned ?? scanned), state, torn: this.#rest }
  }

  /** Adds the lines of an append that is not complete, all in one segment, to the bytes to cut off. */
  #joinRest(rest: Leftover): void {
    const [first, ...others] = this.#rest
    if (first?.segment === rest.segment)
      this.#rest = [{ ...rest, bytes: first.offset + first.bytes - rest.offset }, ...others]
    else this.#rest.unshift({ ...rest, bytes: this.#scanned.offset - rest.offset })
  }
}
