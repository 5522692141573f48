import { errorCode } from '../../base/errors/stint-error.ts'
import { linesBackwards, linesForwards } from '../log/record.ts'
import type { Region } from '../medium.ts'
import { listSegments, type LogFiles, openSegment, type OpenSegment, type Segment } from './log-files.ts'

const newline = 0x0a
/** Most files are smaller than the first chunk, and allocating a large buffer takes time. */
const firstChunkBytes = 16 << 10
const chunkBytes = 256 << 10
/** No record has a longer line; a file with one is not a log. */
const maxLineBytes = 4 << 20

/** The lines of a log from the record `from` on. Lines before it may be in the first region. */
export function* forwardRegions(files: LogFiles, from: number): Generator<Region> {
  const segments = listSegments(files)
  const first = segments.findLast(({ firstSeq }) => firstSeq <= from) ?? segments[0]
  let next = first?.firstSeq ?? Number.POSITIVE_INFINITY
  // Listed again for each segment: the next writer may replace one by a copy.
  for (let isFirst = true; next < Number.POSITIVE_INFINITY; isFirst = false) {
    const segment = listSegments(files).find(({ firstSeq }) => firstSeq >= next)
    if (segment === undefined) return
    next = segment.until
    using file = openIfThere(files, segment)
    if (file === undefined) continue
    const start = isFirst ? seek(file, segment.name, from).start : 0
    yield* chunksForwards(file, segment.name, start, effectiveEnd(file, segment))
  }
}

/** The lines of a log from the record `from` backwards. Lines after it may be in the first region. */
export function* backwardRegions(files: LogFiles, from = Number.MAX_SAFE_INTEGER): Generator<Region> {
  for (let before = from; before > 0;) {
    const segment = listSegments(files).findLast(({ firstSeq }) => firstSeq <= before)
    if (segment === undefined) return
    before = segment.firstSeq - 1
    using file = openIfThere(files, segment)
    if (file === undefined) continue
    const end = Math.min(effectiveEnd(file, segment), seek(file, segment.name, from).end)
    yield* chunksBackwards(file, segment.name, end)
  }
}

/** Opens a segment, or the copy by which the next writer has just replaced it. */
function openIfThere(files: LogFiles, { name, firstSeq }: Segment): OpenSegment | undefined {
  try {
    return openSegment(files, name)
  } catch (error) {
    const copy = listSegments(files).find((segment) => segment.firstSeq === firstSeq)
    if (errorCode(error) !== 'ENOENT' || copy?.name === name) throw error
    return copy && openSegment(files, copy.name)
  }
}

/**
 * Where the records of a segment end that count. The next segment supersedes records from `until` on, and
 * what follows them: bytes of a writer that had lost its lock, or whose write had failed.
 */
export function effectiveEnd(file: OpenSegment, { name, until }: Segment): number {
  if (until === Number.POSITIVE_INFINITY) return until
  for (const region of chunksBackwards(file, name, file.size()))
    for (const line of linesBackwards(region)) {
      const { header } = line
      if (header !== undefined && header.seq < until) return line.next
    }
  return file.size()
}

/**
 * Reads the lines of a segment between two offsets. A writer fills its file ahead with newlines, and writes
 * over them: so every region begins right after the last line before it.
 */
function* chunksForwards(file: OpenSegment, segment: string, from: number, until: number): Generator<Region> {
  let length = firstChunkBytes
  for (let offset = from; offset < until;) {
    const wanted = Math.min(length, until - offset)
    const bytes = file.read(offset, wanted)
    const isLast = bytes.length < wanted || offset + bytes.length === until
    let end = bytes.length
    while (end > 0 && bytes[end - 1] === newline) end -= 1
    const isWhole = end < bytes.length || isLast
    const stop = isWhole ? Math.min(end + 1, bytes.length) : bytes.lastIndexOf(newline, end - 1) + 1
    if (end > 0 && stop > 0) yield { bytes: bytes.subarray(0, stop), segment, offset }
    if (isLast) return
    // Filling, or a part of a line: read more at once.
    if (end === 0 || stop === 0) length = Math.max(chunkBytes, length * 2)
    else {
      offset += stop
      length = chunkBytes
    }
  }
}

/** Reads the lines of a segment from an offset to its beginning. */
function* chunksBackwards(file: OpenSegment, segment: string, from: number): Generator<Region> {
  let carry = Buffer.alloc(0)
  let length = firstChunkBytes
  for (let end = Math.min(from, file.size()); end > 0;) {
    const offset = Math.max(0, end - length)
    const read = file.read(offset, end - offset)
    // Another process may have cut the file since its size was read: the missing bytes read as filling.
    const filling = Buffer.alloc(end - offset - read.length, newline)
    const bytes = Buffer.concat([read, filling, carry])
    // The first line may begin before these bytes.
    const first = offset === 0 ? 0 : bytes.indexOf(newline) + 1
    if (offset === 0 || first > 0) yield { bytes: bytes.subarray(first), segment, offset: offset + first }
    carry = first > 0 || offset === 0 ? bytes.subarray(0, first) : bytes
    if (carry.length > maxLineBytes) carry = Buffer.alloc(0)
    end = offset
    length = Math.min(chunkBytes * 2, length * 4)
  }
}

/** A smaller part of a file is read from its beginning. */
const seekWorthBytes = 128 << 10

/**
 * Finds offsets close to a record. Reading on from `start`, a reader meets its line, or lines before it;
 * reading back from `end`, it meets its line and every line before it.
 */
function seek(file: OpenSegment, name: string, seq: number): { start: number; end: number } {
  const size = file.size()
  let [low, high, end] = [0, size, size]
  while (seq < Number.MAX_SAFE_INTEGER && high - low > seekWorthBytes) {
    const middle = Math.floor((low + high) / 2)
    const record = firstRecordAfter(file, name, middle, high)
    if (record === undefined || record.seq > seq) {
      high = middle
      end = record?.offset ?? end
    } else low = record.offset
  }
  return { start: low, end }
}

function firstRecordAfter(
  file: OpenSegment,
  name: string,
  from: number,
  before: number,
): { seq: number; offset: number } | undefined {
  let isFirst = true
  for (const region of chunksForwards(file, name, from, Number.POSITIVE_INFINITY)) {
    for (const line of linesForwards(region)) {
      if (line.offset >= before) return undefined
      const header = isFirst ? undefined : line.header
      if (header !== undefined) return { seq: header.seq, offset: line.offset }
      // The first line may be the end of a longer one.
      isFirst = false
    }
  }
  return undefined
}
