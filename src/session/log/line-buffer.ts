import { checksumBytes, endLine } from './line-checksum.ts'

/** No character takes more bytes than this for each of its UTF-16 units. */
const maxUnitBytes = 3
const leastBytes = 4 << 10
/** One large group must not occupy its memory for ever. */
const keptBytes = 1 << 20

/** Sealed lines for one write, in memory that the next group uses again. */
export class LineBuffer {
  #buffer = Buffer.alloc(0)
  #end = 0
  #lastStart = 0

  /** What was added since it was cleared; valid until then. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#end)
  }

  /** The last line, without its newline. */
  get last(): Buffer {
    return this.#buffer.subarray(this.#lastStart, this.#end - 1)
  }

  /** Adds a line: this text, its seal and a newline. */
  add(text: string): void {
    this.#makeRoom(text.length * maxUnitBytes + checksumBytes + 1)
    const start = this.#end
    const end = start + this.#buffer.write(text, start)
    this.#end = endLine(this.#buffer, start, end)
    this.#lastStart = start
  }

  clear(): void {
    this.#end = 0
    if (this.#buffer.length > keptBytes) this.#buffer = Buffer.alloc(0)
  }

  #makeRoom(bytes: number): void {
    const needed = this.#end + bytes
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(leastBytes, needed, this.#buffer.length * 2))
    this.#buffer.copy(larger, 0, 0, this.#end)
    this.#buffer = larger
  }
}
