import type { Region } from '../medium.ts'

/** A line of a region, without its newline. It is a part of a buffer, and valid as long as the region is. */
export class Line {
  readonly chunk: Buffer
  readonly start: number
  readonly end: number
  readonly region: Region
  /** False for the bytes after the last newline. */
  readonly ended: boolean

  constructor(region: Region, start: number, end: number, ended: boolean) {
    this.chunk = region.bytes
    this.region = region
    this.start = start
    this.end = end
    this.ended = ended
  }

  get bytes(): Buffer {
    return this.chunk.subarray(this.start, this.end)
  }

  /** Where the line begins in its segment. */
  get offset(): number {
    return this.region.offset + this.start
  }

  /** Where the next line begins in its segment. */
  get next(): number {
    return this.region.offset + this.end + (this.ended ? 1 : 0)
  }
}

const newline = 0x0a

/** The lines of a region. Skips empty ones, which fill the end of a segment. */
export function* linesForwards(region: Region): Generator<Line> {
  const { bytes } = region
  for (let start = 0; start < bytes.length;) {
    if (bytes[start] === newline) {
      start += 1
      continue
    }
    const at = bytes.indexOf(newline, start)
    const end = at < 0 ? bytes.length : at
    yield new Line(region, start, end, at >= 0)
    start = end + 1
  }
}

/** The lines of a region from the last to the first. */
export function* linesBackwards(region: Region): Generator<Line> {
  const { bytes } = region
  let ended = false
  for (let stop = bytes.length; ;) {
    for (; stop > 0 && bytes[stop - 1] === newline; stop--) ended = true
    if (stop === 0) return
    const start = bytes.lastIndexOf(newline, stop - 1) + 1
    yield new Line(region, start, stop, ended)
    stop = start
  }
}
