/** Reads up to `into.length` bytes at a position; returns how many, 0 at the end. */
export type ReadAt = (into: Buffer, position: number) => number

/** A line of a file, without its newline. It is a part of a chunk, and valid until the next line is read. */
export class Line {
  readonly chunk: Buffer
  readonly start: number
  readonly end: number
  /** Where the line begins in the file. */
  readonly offset: number
  /** False for the bytes after the last newline. */
  readonly ended: boolean

  constructor(chunk: Buffer, start: number, end: number, offset: number, ended: boolean) {
    this.chunk = chunk
    this.start = start
    this.end = end
    this.offset = offset
    this.ended = ended
  }

  get bytes(): Buffer {
    return this.chunk.subarray(this.start, this.end)
  }

  /** Where the next line begins in the file. */
  get next(): number {
    return this.offset + this.end - this.start + (this.ended ? 1 : 0)
  }
}

const chunkBytes = 256 << 10
/** Most files are smaller than this, and allocating a large buffer takes time. */
const firstChunkBytes = 16 << 10
const newline = 0x0a

/**
 * Reads the lines of a file from a position on, and skips empty ones, which fill the end of a segment. Its
 * memory grows with the longest line only. The first bytes are read into `chunk`.
 */
export function* linesFrom(
  read: ReadAt,
  from = 0,
  chunk: Buffer = Buffer.allocUnsafe(firstChunkBytes),
): Generator<Line> {
  let buffer = chunk
  let [start, filled, base] = [0, 0, from]
  for (;;) {
    // Filling: an `indexOf` for each of its newlines would take longer than reading all lines.
    while (start < filled && buffer[start] === newline) start += 1
    const end = buffer.indexOf(newline, start)
    if (end >= 0 && end < filled) {
      yield new Line(buffer, start, end, base + start, true)
      start = end + 1
      continue
    }
    if (filled < buffer.length || (start > 0 && buffer.length >= chunkBytes))
      buffer.copyWithin(0, start, filled)
    else buffer = larger(buffer.subarray(start), Math.max(chunkBytes, buffer.length * 2))
    ;[base, filled, start] = [base + start, filled - start, 0]
    const got = read(buffer.subarray(filled), base + filled)
    if (got === 0) break
    filled += got
  }
  if (filled > 0) yield new Line(buffer, 0, filled, base, false)
}

function larger(bytes: Buffer, length: number): Buffer {
  const buffer = Buffer.allocUnsafe(length)
  bytes.copy(buffer)
  return buffer
}

/** Reads the lines of a file of this size from the last to the first, and skips empty ones. */
export function* linesBackwards(read: ReadAt, size: number): Generator<Line> {
  let end = size
  let held = Buffer.alloc(0)
  let ended = false
  // Most callers want the last lines only.
  for (let length = firstChunkBytes; end > 0; length = Math.min(length * 4, chunkBytes)) {
    const start = Math.max(0, end - length)
    const buffer = Buffer.allocUnsafe(end - start + held.length)
    held.copy(buffer, end - start)
    readFully(read, buffer.subarray(0, end - start), start)
    held = buffer
    let stop = held.length
    for (;;) {
      // Filling.
      for (; stop > 0 && held[stop - 1] === newline; stop--) ended = true
      const at = stop === 0 ? -1 : held.lastIndexOf(newline, stop - 1)
      if (at < 0) break
      yield new Line(held, at + 1, stop, start + at + 1, ended)
      stop = at + 1
    }
    held = held.subarray(0, stop)
    end = start
  }
  if (held.length > 0) yield new Line(held, 0, held.length, 0, ended)
}

function readFully(read: ReadAt, into: Buffer, position: number): void {
  for (let done = 0; done < into.length;) {
    const got = read(into.subarray(done), position + done)
    // Another process has cut the file since its size was read: the missing bytes read as filling.
    if (got === 0) {
      into.fill(newline, done)
      return
    }
    done += got
  }
}
