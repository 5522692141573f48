import type { Codec } from '../../log/codec.ts'
import { linesFrom } from '../../log/lines.ts'
import { listSegments, type LogFiles, openSegment, type Segment } from '../../log/log-files.ts'
import { checkRecord } from '../../log/record.ts'
import type { Scanned } from '../../log/scan.ts'

/** Where an intact line is. */
export interface IntactLine {
  seq: number
  at: number
  segment: string
  offset: number
  bytes: number
}

/** What of a damaged log can be shown to be as it was written. */
export interface Salvage {
  /** The first record of the segment in which the damage is: everything from there on is written anew, into one segment. */
  from: number
  /** The first record that is missing or changed. */
  bad: number
  /** The intact lines from there on, by their numbers, each once. */
  pieces: IntactLine[]
  /** The records that are lost, in ranges. */
  lost: SeqRange[]
  /** The last record there will be: the last intact one, or the last that is known to have been there. */
  last: number
  /** The segments that the new one takes the place of. */
  replaced: string[]
}

export interface SeqRange {
  from: number
  to: number
}

/** A line that says that so many are missing before it was not written by us: what follows it stays in the copy only. */
const largestHole = 1_000_000

/** Reads everything from the damaged segment on. Nothing is changed. Keeps a few numbers for each line in memory. */
export function salvageLog(place: LogFiles, { bad, end }: Scanned, attestedSeq: number): Salvage {
  const missing = bad?.seq ?? end.seq + 1
  const segments = listSegments(place)
  const damaged = segments.find(({ name }) => name === bad?.segment)
  const from = Math.min(damaged?.firstSeq ?? missing, missing)
  const affected = segments.filter(({ firstSeq }) => firstSeq >= from)
  const pieces = inSequence(
    affected.flatMap((segment) => intactLines(place, segment)).filter(({ seq }) => seq >= from),
    from,
  )
  const last = Math.max(pieces.at(-1)?.seq ?? from - 1, attestedSeq)
  return {
    from,
    bad: missing,
    pieces,
    lost: holesIn(pieces, from, last),
    last,
    replaced: affected.map(({ name }) => name),
  }
}

function intactLines(place: LogFiles, { name, until }: Segment): IntactLine[] {
  const pieces: IntactLine[] = []
  using file = openSegment(place, name)
  for (const line of linesFrom(file.read)) {
    for (const [start, bytes] of linesWithin(line.bytes)) {
      const header = checkRecord(bytes)
      if (header === undefined || header.seq >= until || header.group > header.seq) continue
      if (!isOfItself(bytes, place.codec)) continue
      const { seq, at } = header
      pieces.push({ seq, at, segment: name, offset: line.offset + start, bytes: bytes.length })
    }
  }
  return pieces
}

const lineStart = '{"seq":'

/** A line, or, if it is none, the lines it may have been made of: the newline between them can be what was damaged. */
function* linesWithin(bytes: Buffer): Generator<[start: number, line: Buffer]> {
  if (checkRecord(bytes) !== undefined) {
    yield [0, bytes]
    return
  }
  const starts: number[] = []
  for (let at = bytes.indexOf(lineStart); at >= 0; at = bytes.indexOf(lineStart, at + 1)) starts.push(at)
  for (const [i, start] of starts.entries()) {
    // One byte less than up to the next: where the newline was. What looks like a beginning may also be in somebody's data.
    for (const next of starts.slice(i + 1, i + 9)) yield [start, bytes.subarray(start, next - 1)]
    yield [start, bytes.subarray(start)]
  }
}

/** Is a line what its own hash says, whatever came before it? */
function isOfItself(line: Buffer, { follows }: Codec): boolean {
  return follows === undefined || follows(line, prevOf(line))
}

const prev = /,"prev":"([0-9a-f]{64})","hash":"[0-9a-f]{64}","crc":"[0-9a-f]{8}"\}$/

/** The hash that a line of an audit log names as that of the line before it. */
export const prevOf = (line: Buffer): string =>
  prev.exec(line.toString('latin1', Math.max(0, line.length - 240)))?.[1] ?? ''

/** By their numbers, each once, up to a hole that is no hole. */
function inSequence(pieces: IntactLine[], from: number): IntactLine[] {
  const sorted = pieces.toSorted((a, b) => a.seq - b.seq)
  const kept: IntactLine[] = []
  let next = from
  for (const piece of sorted) {
    if (piece.seq - next > largestHole) break
    if (piece.seq < next) continue
    kept.push(piece)
    next = piece.seq + 1
  }
  return kept
}

function holesIn(pieces: readonly IntactLine[], from: number, last: number): SeqRange[] {
  const holes: SeqRange[] = []
  let next = from
  for (const { seq } of pieces) {
    if (seq > next) holes.push({ from: next, to: seq - 1 })
    next = seq + 1
  }
  if (next <= last) holes.push({ from: next, to: last })
  return holes
}

/** How many records these are. */
export const countRecords = (ranges: readonly SeqRange[]): number =>
  ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)
