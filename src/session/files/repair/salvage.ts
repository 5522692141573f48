import { join } from 'node:path'
import { readFully } from '../../../base/fs/disk.ts'
import type { Codec } from '../../log/codec.ts'
import { linesFrom } from '../../log/lines.ts'
import { listSegments, type LogFiles, openSegment, type Segment } from '../../log/log-files.ts'
import { checkRecord } from '../../log/record.ts'
import type { Scanned } from '../../log/scan.ts'

/** An intact line, and where it is. */
export interface IntactLine {
  seq: number
  at: number
  segment: string
  offset: number
  bytes: number
}

/** The lines of a damaged log that are as they were written. */
export interface Salvage {
  /** The first record of the damaged segment: everything from there on is rewritten, into one segment. */
  from: number
  /** The first record that is missing or changed. */
  bad: number
  /** The intact lines from there on, sorted by number, each once. */
  lines: IntactLine[]
  /** The records that are lost, in ranges. */
  lost: SeqRange[]
  /** The last record of the rewritten log: the last intact one, or the last that is attested. */
  last: number
  /** The segments that the new one replaces. */
  replaced: string[]
}

export interface SeqRange {
  from: number
  to: number
}

/** A line that would leave a larger gap than this has a forged number, and is not salvaged. */
const maxGap = 1_000_000

/** Reads all lines from the damaged segment on, in steps, and keeps a few numbers for each in memory. */
export function* salvageLog(
  files: LogFiles,
  { bad, end }: Scanned,
  attestedSeq: number,
): Generator<void, Salvage> {
  const missing = bad?.seq ?? end.seq + 1
  const segments = listSegments(files)
  const damaged = segments.find(({ name }) => name === bad?.segment)
  const from = Math.min(damaged?.firstSeq ?? missing, missing)
  const affected = segments.filter(({ firstSeq }) => firstSeq >= from)
  const intact: IntactLine[] = []
  for (const segment of affected)
    for (const line of intactLines(files, segment)) {
      if (line.seq >= from && intact.push(line) % linesPerStep === 0) yield
    }
  const { kept, gaps } = yield* inSequence(intact, from)
  const lastIntact = kept.at(-1)?.seq ?? from - 1
  const last = Math.max(lastIntact, attestedSeq)
  return {
    from,
    bad: missing,
    lines: kept,
    lost: last > lastIntact ? [...gaps, { from: lastIntact + 1, to: last }] : gaps,
    last,
    replaced: affected.map(({ name }) => name),
  }
}

/** The event loop may run after this many lines. */
const linesPerStep = 64

function* intactLines(files: LogFiles, { name, until }: Segment): Generator<IntactLine> {
  using file = openSegment(files, name)
  for (const line of linesFrom(file.read)) {
    for (const [start, bytes] of linesWithin(line.bytes)) {
      const header = checkRecord(bytes)
      if (header === undefined || header.seq >= until || header.group > header.seq) continue
      if (!hasOwnHash(bytes, files.codec)) continue
      const { seq, at } = header
      yield { seq, at, segment: name, offset: line.offset + start, bytes: bytes.length }
    }
  }
}

const lineStart = '{"seq":'

/** A line, or the lines that a damaged one may consist of: the damaged byte may have been a newline. */
function* linesWithin(bytes: Buffer): Generator<[start: number, line: Buffer]> {
  if (checkRecord(bytes) !== undefined) {
    yield [0, bytes]
    return
  }
  const starts: number[] = []
  for (let at = bytes.indexOf(lineStart); at >= 0; at = bytes.indexOf(lineStart, at + 1)) starts.push(at)
  for (const [i, start] of starts.entries()) {
    // Each ends where the newline was, before the next. The start of a line may also occur in its data.
    for (const next of starts.slice(i + 1, i + 9)) yield [start, bytes.subarray(start, next - 1)]
    yield [start, bytes.subarray(start)]
  }
}

/** Does a line match its own hash, whatever line came before it? */
function hasOwnHash(line: Buffer, { follows }: Codec): boolean {
  return follows === undefined || follows(line, prevOf(line))
}

const prev = /,"prev":"([0-9a-f]{64})","hash":"[0-9a-f]{64}","crc":"[0-9a-f]{8}"\}$/

/** The hash of the line before, as an audit line names it. */
const prevOf = (line: Buffer): string =>
  prev.exec(line.toString('latin1', Math.max(0, line.length - 240)))?.[1] ?? ''

/** Sorts lines by number, drops duplicates, stops before a gap that is too large, and finds the gaps. */
function* inSequence(
  lines: IntactLine[],
  from: number,
): Generator<void, { kept: IntactLine[]; gaps: SeqRange[] }> {
  const isSorted = lines.every(({ seq }, i) => i === 0 || seq > (lines[i - 1]?.seq ?? 0))
  const kept: IntactLine[] = []
  const gaps: SeqRange[] = []
  let next = from
  for (const line of isSorted ? lines : lines.toSorted((a, b) => a.seq - b.seq)) {
    if (line.seq - next > maxGap) break
    if (line.seq < next) continue
    if (line.seq > next) gaps.push({ from: next, to: line.seq - 1 })
    next = line.seq + 1
    if (kept.push(line) % linesPerStep === 0) yield
  }
  return { kept, gaps }
}

/** The number of records in these ranges. */
export const countRecords = (ranges: readonly SeqRange[]): number =>
  ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)

/** Reads intact lines of a damaged log again. Opens each file once. */
export class IntactLineReader implements Disposable {
  readonly #files: LogFiles
  readonly #open = new Map<string, number>()

  constructor(files: LogFiles) {
    this.#files = files
  }

  read({ segment, offset, bytes }: IntactLine): Buffer {
    const { disk, directory } = this.#files
    const file = this.#open.get(segment) ?? disk.openToRead(join(directory, segment))
    this.#open.set(segment, file)
    return readFully(disk, file, offset, bytes)
  }

  [Symbol.dispose](): void {
    for (const file of this.#open.values()) this.#files.disk.close(file)
  }
}
