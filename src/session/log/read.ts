import { type Line, linesBackwards, linesFrom, type ReadAt } from './lines.ts'
import { type LogFiles, openSegment, listSegments } from './log-files.ts'
import { logStart, type Position } from './position.ts'
import { checkRecord, type CheckedHeader, type LogRecord, parseLogRecord } from './record.ts'

export interface ReadOptions {
  /** The first record; 1 by default. */
  from?: number
  /** The last one. */
  to?: number
}

/** A line that counts. */
export interface RecordLine {
  line: Line
  header: CheckedHeader
  segment: string
}

/**
 * The lines of a log, in order, as far as they are whole: it ends before the first that is bad or missing. Safe while somebody
 * else writes. Its memory does not grow with the log.
 */
export function* readLines(
  place: LogFiles,
  { from = 1, to = Number.POSITIVE_INFINITY }: ReadOptions = {},
): Generator<RecordLine> {
  let wanted: number | undefined
  for (const segment of listSegments(place)) {
    if (segment.until <= from) continue
    if (wanted === undefined ? segment.firstSeq > from : segment.firstSeq !== wanted) return
    wanted ??= from
    using file = openSegment(place, segment.name)
    for (const line of linesFrom(file.read, seek(file.read, file.size(), from))) {
      const header = line.ended ? checkRecord(line.chunk, line.start, line.end) : undefined
      if (header === undefined || header.seq > wanted || header.seq >= segment.until) break
      if (header.seq < wanted) continue
      if (header.seq > to) return
      yield { line, header, segment: segment.name }
      wanted += 1
    }
    if (wanted < segment.until) return
  }
}

/** The records of those lines. */
export function* readRecords(place: LogFiles, options?: ReadOptions): Generator<LogRecord> {
  for (const { line } of readLines(place, options)) yield parseLogRecord(line.bytes)
}

/** Just after a record; undefined if there is no such record. */
export function positionAfter(place: LogFiles, seq: number): Position | undefined {
  if (seq === 0) return logStart(place.log)
  for (const { line, segment } of readLines(place, { from: seq, to: seq }))
    return { seq, tail: place.codec.tailOf(line.bytes), segment, offset: line.next }
  return undefined
}

/** The same from the end backwards, from the last record that is whole; `before` leaves out what comes from there on. */
export function* readBackwards(place: LogFiles, before = Number.POSITIVE_INFINITY): Generator<LogRecord> {
  let next: number | undefined
  for (const segment of listSegments(place).toReversed()) {
    if (segment.firstSeq >= before) continue
    using file = openSegment(place, segment.name)
    for (const { bytes, ended } of linesBackwards(file.read, file.size())) {
      const header = ended ? checkRecord(bytes) : undefined
      if (header === undefined || header.seq >= Math.min(segment.until, before)) continue
      if (next !== undefined && header.seq !== next) return
      yield parseLogRecord(bytes)
      next = header.seq - 1
    }
  }
}

/** Does the log have, just before this position, the record that it says? */
export function hasPosition(place: LogFiles, { seq, tail, segment: name, offset }: Position): boolean {
  const segment = listSegments(place).find((each) => each.name === name)
  if (seq === 0) return offset === 0
  if (segment === undefined || seq >= segment.until) return false
  using file = openSegment(place, segment.name)
  if (offset > file.size()) return false
  const line = linesBackwards(file.read, offset).next().value
  if (line === undefined || !line.ended || checkRecord(line.bytes)?.seq !== seq) return false
  return place.codec.tailOf(line.bytes) === tail
}

/**
 * The position as it is now, if the log has it: whoever takes a session over from a writer that may still live goes on in a copy of its last segment, where everything is at
 * the same place.
 */
export function locatePosition(place: LogFiles, position: Position): Position | undefined {
  if (hasPosition(place, position)) return position
  const { seq } = position
  const copy = listSegments(place).find(({ firstSeq, until }) => firstSeq <= seq && seq < until)
  const moved = { ...position, segment: copy?.name ?? '' }
  return copy !== undefined && hasPosition(place, moved) ? moved : undefined
}

/** Does the log end at this position: no bytes and no segment after it? */
export function endsAt(place: LogFiles, { seq, segment: name, offset }: Position): boolean {
  const last = listSegments(place).at(-1)
  if (last === undefined) return seq === 0
  if (last.name !== name) return false
  using file = openSegment(place, last.name)
  return file.size() === offset
}

/** Below this, a file is simply read. */
const seekWorthBytes = 1 << 20

/** Where to begin reading so as to meet this record soon: at its line or before it. */
function seek(read: ReadAt, size: number, seq: number): number {
  let [low, high] = [0, size]
  while (high - low > seekWorthBytes) {
    const middle = Math.floor((low + high) / 2)
    const found = firstRecordAfter(read, middle, high)
    if (found === undefined || found.seq >= seq) high = middle
    else low = found.offset
  }
  return low
}

function firstRecordAfter(
  read: ReadAt,
  from: number,
  before: number,
): { seq: number; offset: number } | undefined {
  let first = true
  for (const { bytes, offset, ended } of linesFrom(read, from)) {
    if (offset >= before) return undefined
    const header = ended && !first ? checkRecord(bytes) : undefined
    if (header !== undefined) return { seq: header.seq, offset }
    // Where it begins, it begins in the middle of a line.
    first = false
  }
  return undefined
}
