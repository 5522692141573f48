import type { RecordRange } from '../driver.ts'
import { type Line, linesBackwards, linesFrom, type ReadAt } from './lines.ts'
import { logStart, type Position } from './log-end.ts'
import { listSegments, type LogFiles, openSegment } from './log-files.ts'
import { checkRecord, isContinued, type LogRecord, parseLogRecord } from './record.ts'

/** An intact line of an effective segment, with its checked header. */
export interface RecordLine {
  line: Line
  segment: string
}

/** A range of records. Up to `attested`, they are known from outside of the log to count. */
export interface LogRange extends RecordRange {
  attested?: number
}

/**
 * Reads the lines of a log in order, up to the first that is damaged or missing, and without the lines of an
 * append that is not complete. Another process may write meanwhile. Its memory does not grow with the log.
 */
export function* readLines(
  files: LogFiles,
  { from = 1, to = Number.POSITIVE_INFINITY, attested = 0 }: LogRange = {},
): Generator<RecordLine> {
  let wanted: number | undefined
  let wholeTo = attested
  for (const segment of listSegments(files)) {
    if (segment.until <= from) continue
    if (wanted === undefined ? segment.firstSeq > from : segment.firstSeq !== wanted) return
    wanted ??= from
    using file = openSegment(files, segment.name)
    for (const line of linesFrom(file.read, seek(file.read, file.size(), from).start)) {
      const header = line.ended ? checkRecord(line.chunk, line.start, line.end) : undefined
      if (header === undefined || header.seq > wanted || header.seq >= segment.until) break
      if (header.seq < wanted) continue
      if (header.seq > to) return
      if (header.seq > wholeTo && isContinued(line)) {
        const last = lastOfAppend(file.read, line.offset, header.seq)
        if (last === undefined) return
        wholeTo = last
      }
      yield { line, segment: segment.name }
      wanted += 1
    }
    if (wanted < segment.until) return
  }
}

/** The last record of the append that a continued line belongs to; undefined if that is not complete. */
function lastOfAppend(read: ReadAt, offset: number, first: number): number | undefined {
  let seq = first
  for (const line of linesFrom(read, offset)) {
    const header = line.ended ? checkRecord(line.chunk, line.start, line.end) : undefined
    if (header?.seq !== seq) return undefined
    if (!isContinued(line)) return seq
    seq += 1
  }
  return undefined
}

/** Reads the records of a log in order, up to the first that is damaged or missing. */
export function* readRecords(files: LogFiles, range?: LogRange): Generator<LogRecord> {
  for (const { line } of readLines(files, range)) yield parseLogRecord(line.bytes)
}

/** The position just after a record; undefined if there is no such record. */
export function positionAfter(files: LogFiles, seq: number): Position | undefined {
  if (seq === 0) return logStart(files.log)
  for (const { line, segment } of readLines(files, { from: seq, to: seq, attested: seq }))
    return { seq, sum: files.codec.sumOf(line.bytes), segment, offset: line.next }
  return undefined
}

/**
 * Reads the records of a log from the last intact one backwards, without the records from `before` on, and
 * without those of an append that is not complete, unless they are attested.
 */
export function* readBackwards(
  files: LogFiles,
  { before = Number.POSITIVE_INFINITY, attested = 0 } = {},
): Generator<LogRecord> {
  let next: number | undefined
  for (const segment of listSegments(files).toReversed()) {
    if (segment.firstSeq >= before) continue
    using file = openSegment(files, segment.name)
    const { end } = seek(file.read, file.size(), before)
    for (const { bytes, ended } of linesBackwards(file.read, end)) {
      const header = ended ? checkRecord(bytes) : undefined
      if (header === undefined || header.seq >= Math.min(segment.until, before)) continue
      if (next !== undefined && header.seq !== next) return
      const record = parseLogRecord(bytes)
      if (next === undefined && record.continued && header.seq > attested) continue
      yield record
      next = header.seq - 1
    }
  }
}

/** Does the record just before this position have the number and the sum that the position says? */
export function hasPosition(files: LogFiles, { seq, sum, segment: name, offset }: Position): boolean {
  const segment = listSegments(files).find((each) => each.name === name)
  if (seq === 0) return offset === 0
  if (segment === undefined || seq >= segment.until) return false
  using file = openSegment(files, segment.name)
  if (offset > file.size()) return false
  const line = linesBackwards(file.read, offset).next().value
  if (line === undefined || !line.ended || checkRecord(line.bytes)?.seq !== seq) return false
  return files.codec.sumOf(line.bytes) === sum
}

/**
 * Finds the segment in which a position is now; undefined if the log does not have it. A process that takes a
 * session over from a writer that may still be alive goes on in a copy of its last segment, with the same
 * offsets.
 */
export function locatePosition(files: LogFiles, position: Position): Position | undefined {
  if (hasPosition(files, position)) return position
  const { seq } = position
  const copy = listSegments(files).find(({ firstSeq, until }) => firstSeq <= seq && seq < until)
  const moved = { ...position, segment: copy?.name ?? '' }
  return copy !== undefined && hasPosition(files, moved) ? moved : undefined
}

/** Is the position the end of the log, with no bytes and no segment after it? */
export function endsAt(files: LogFiles, { seq, segment: name, offset }: Position): boolean {
  const last = listSegments(files).at(-1)
  if (last === undefined) return seq === 0
  if (last.name !== name) return false
  using file = openSegment(files, last.name)
  return file.size() === offset
}

/** A smaller file is read from its beginning. */
const seekWorthBytes = 1 << 20

/**
 * Finds offsets close to a record. Reading on from `start`, a reader meets its line, or lines before it;
 * reading back from `end`, it meets every line before it.
 */
function seek(read: ReadAt, size: number, seq: number): { start: number; end: number } {
  let [low, high, end] = [0, size, size]
  while (seq !== Number.POSITIVE_INFINITY && high - low > seekWorthBytes) {
    const middle = Math.floor((low + high) / 2)
    const found = firstRecordAfter(read, middle, high)
    if (found === undefined || found.seq >= seq) {
      high = middle
      end = found?.offset ?? end
    } else low = found.offset
  }
  return { start: low, end }
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
    // The first line may be the end of a longer one.
    first = false
  }
  return undefined
}
