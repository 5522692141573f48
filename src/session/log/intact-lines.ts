import { ifPossible } from '../../base/errors/if-possible.ts'
import { giveWay } from '../../base/process/event-loop.ts'
import type { Leftover, ReadableMedium, Region } from '../medium.ts'
import { turnType } from '../state.ts'
import { type Codec, codecs } from './codec.ts'
import { type Line, linesForwards } from './lines.ts'
import type { LogName } from './log-end.ts'
import { type BlobName, type CheckedHeader, checkRecord, type LogRecord, parseLogRecord } from './record.ts'

/** A line that is as it was written, and where it is. A repair keeps only these numbers of each in memory. */
export interface IntactLine {
  seq: number
  /** Milliseconds since the epoch. */
  at: number
  isTurn: boolean
  blob: BlobName | undefined
  /** How many lines of the audit log it attests; 0 if it attests none. */
  audited: number
  /** The `seq` of the first record that was synced together with this one. */
  group: number
  /** Does the next record belong to the same append? */
  isContinued: boolean
  segment: string
  offset: number
  bytes: number
}

/** The lines of a damaged log that are as they were written, in order, each once. */
export interface IntactLines {
  lines: IntactLine[]
  /** Bytes in which there is no such line. */
  unreadable: Leftover[]
  /** How many lines of the audit log the intact lines of a journal attest. */
  audited: number
}

/** How many lines are read before the event loop may run. */
const linesPerLook = 32

/** Reads all of a log. */
export async function findIntactLines(medium: ReadableMedium, log: LogName): Promise<IntactLines> {
  const wholeLines = new Map<number, IntactLine>()
  /** Records in lines that are damaged or have lost their line break. */
  const embedded = new Map<number, IntactLine>()
  const unreadable: Leftover[] = []
  let count = 0
  for await (const region of medium.regions(log, { from: 0, backwards: false })) {
    const { segment } = region
    for (const line of linesForwards(region)) {
      if (++count % linesPerLook === 0) await giveWay()
      const records = recordsIn(line, codecs[log])
      for (const { start, end, header, record } of records) {
        const { seq, at, group } = header
        const intact = start === 0 && end === line.bytes.length ? wholeLines : embedded
        if (intact.has(seq)) continue
        const { blob, type, audit, continued: isContinued = false } = record
        const place = { segment, offset: line.offset + start, bytes: end - start }
        const audited = audit?.count ?? 0
        intact.set(seq, { seq, at, isTurn: type === turnType, blob, audited, group, isContinued, ...place })
      }
      if (records.length === 0)
        addLeftover(unreadable, { segment, offset: line.offset, bytes: line.next - line.offset })
    }
  }
  const lines = [...new Map([...embedded, ...wholeLines]).values()].sort((a, b) => a.seq - b.seq)
  return { lines, unreadable, audited: lines.reduce((most, { audited }) => Math.max(most, audited), 0) }
}

/** A record as it was written, in the bytes of a line. */
interface FoundRecord {
  start: number
  end: number
  header: CheckedHeader
  record: LogRecord
}

function recordAt(bytes: Buffer, start: number, end: number, codec: Codec): FoundRecord | undefined {
  const header = checkRecord(bytes, start, end)
  const text = bytes.subarray(start, end)
  if (header === undefined || !isAsHashed(text, codec)) return undefined
  const record = ifPossible(() => parseLogRecord(text))
  return record && { start, end, header, record }
}

/**
 * The record of a line. In a damaged line: the records at its beginning and at its end, each of which another
 * may adjoin, because the damaged byte may have been a newline. Other text with a right checksum is no
 * record: agents append what they like, and some append the lines of a journal.
 */
function recordsIn({ bytes, ended }: Line, codec: Codec): FoundRecord[] {
  const wholeLine = recordAt(bytes, 0, bytes.length, codec)
  if (wholeLine !== undefined) return [wholeLine]
  const records: FoundRecord[] = []
  let next = firstRecord(bytes, [0], codec)
  while (next !== undefined) {
    records.push(next)
    next = firstRecord(bytes, [next.end, next.end + 1], codec)
  }
  const read = records.at(-1)?.end ?? 0
  // Bytes without a newline may end anywhere in a record: also after a part of its data.
  if (read < bytes.length && ended) records.push(...recordsAtEnd(bytes, read, codec))
  return records
}

function firstRecord(bytes: Buffer, starts: readonly number[], codec: Codec): FoundRecord | undefined {
  for (const start of starts) {
    const found = recordAt(bytes, start, endOfObject(bytes, start), codec)
    if (found !== undefined) return found
  }
  return undefined
}

const lineStart = '{"seq":'

/** The records from an offset on that end where the bytes end, or where the next of them begins. */
function recordsAtEnd(bytes: Buffer, from: number, codec: Codec): FoundRecord[] {
  const records: FoundRecord[] = []
  let ends = [bytes.length]
  for (let at = bytes.length; at > from;) {
    at = bytes.lastIndexOf(lineStart, at - 1)
    if (at < from) break
    const start = at
    const found = ends.map((end) => recordAt(bytes, start, end, codec)).find((each) => each !== undefined)
    if (found === undefined) continue
    records.push(found)
    ends = [start, start - 1]
  }
  return records
}

const [quote, backslash, openingBrace, closingBrace] = [0x22, 0x5c, 0x7b, 0x7d]

/** Where the JSON object ends that begins at an offset; the length of the bytes if it does not end. */
function endOfObject(bytes: Buffer, start: number): number {
  let depth = 0
  let isInString = false
  for (let at = start; at < bytes.length; at++) {
    const code = bytes[at]
    if (code === quote) isInString = !isInString
    else if (isInString && code === backslash) at += 1
    else if (!isInString && code === openingBrace) depth += 1
    else if (!isInString && code === closingBrace) depth -= 1
    if (depth === 0 && code === closingBrace && !isInString) return at + 1
  }
  return bytes.length
}

const prevField = /,"prev":"([0-9a-f]{64})","hash":"[0-9a-f]{64}","crc":"[0-9a-f]{8}"\}$/

/** Does an audit line match its own hash, whatever line came before it? */
function isAsHashed(line: Buffer, { follows }: Codec): boolean {
  if (follows === undefined) return true
  const end = line.toString('latin1', Math.max(0, line.length - 240))
  return follows(line, prevField.exec(end)?.[1] ?? '')
}

/** Adds bytes, joined to those that end where these begin. */
function addLeftover(leftovers: Leftover[], more: Leftover): void {
  const last = leftovers.at(-1)
  if (last?.segment === more.segment && last.offset + last.bytes === more.offset) last.bytes += more.bytes
  else leftovers.push(more)
}

/** Reads intact lines again, in the order of the log at best: for an earlier line it begins anew. */
export class LineReader {
  readonly #medium: ReadableMedium
  readonly #log: LogName
  #regions: AsyncIterator<Region> | undefined
  #region: Region | undefined

  constructor(medium: ReadableMedium, log: LogName) {
    this.#medium = medium
    this.#log = log
  }

  async read(line: IntactLine): Promise<string> {
    for (let round = 1; round <= 2; round++) {
      while (this.#region !== undefined || this.#regions === undefined) {
        const text = this.#region && textOf(this.#region, line)
        if (text !== undefined) return text
        const regions = this.#medium.regions(this.#log, { from: 0, backwards: false })
        this.#regions ??= regions[Symbol.asyncIterator]()
        const next = await this.#regions.next()
        this.#region = next.done ? undefined : next.value
      }
      this.#regions = undefined
    }
    throw new Error(`record ${line.seq} is no longer there`)
  }
}

/** The text of a line in this region; undefined if another region has it. */
function textOf({ segment, offset, bytes }: Region, line: IntactLine): string | undefined {
  const start = line.offset - offset
  if (line.segment !== segment || start < 0 || start + line.bytes > bytes.length) return undefined
  const text = bytes.subarray(start, start + line.bytes)
  return checkRecord(text)?.seq === line.seq ? text.toString() : undefined
}
