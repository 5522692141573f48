import { crc32 } from 'node:zlib'

/** The length of `,"crc":"01234567"}`, the last bytes of a line: the CRC-32 of every byte before them. */
export const checksumBytes = 18

const byteTexts = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Formats a checksum as eight hex digits. `toString(16)` would take as long as the checksum itself. */
export const formatChecksum = (sum: number): string =>
  `${byteTexts[sum >>> 24]}${byteTexts[(sum >>> 16) & 255]}${byteTexts[(sum >>> 8) & 255]}${byteTexts[sum & 255]}`

/** Closes the JSON of an object, which must lack its last brace, with a checksum. */
export const withChecksum = (text: string): string => `${text},"crc":"${formatChecksum(crc32(text))}"}`

/** Returns the bytes before a checksum that is right; undefined if it is wrong or missing. */
export function verifiedText(bytes: Buffer): Buffer | undefined {
  const end = bytes.length - checksumBytes
  const sum = checksumAt(bytes, end)
  const text = bytes.subarray(0, Math.max(0, end))
  return sum !== undefined && sum === crc32(text) ? text : undefined
}

const opening = Buffer.from(',"crc":"')
const closing = Buffer.from('"}\n')
const digits = Buffer.from('0123456789abcdef')

/** Adds the checksum of a line and a newline behind it; returns where the next line begins. */
function endLine(buffer: Buffer, start: number, end: number): number {
  let sum = checksumOf(buffer, start, end)
  let at = put(buffer, end, opening) + 8
  for (let i = 1; i <= 8; i++, sum >>>= 4) buffer[at - i] = digits[sum & 15] as number
  return put(buffer, at, closing)
}

/** The checksum of a part of a buffer. `subarray` would take as long as the checksum. */
export const checksumOf = (buffer: Buffer, start: number, end: number): number =>
  crc32(new Uint8Array(buffer.buffer, buffer.byteOffset + start, end - start))

/** Reads the checksum that begins at an offset; undefined if there is none. */
export function checksumAt(bytes: Buffer, at: number): number | undefined {
  if (at < 0 || !hasBytesAt(bytes, at, opening)) return undefined
  if (bytes[at + 16] !== 0x22 || bytes[at + 17] !== 0x7d) return undefined
  let sum = 0
  for (let i = at + 8; i < at + 16; i++) {
    const digit = hexDigit(bytes[i] as number)
    if (digit < 0) return undefined
    sum = sum * 16 + digit
  }
  return sum
}

const hexDigit = (code: number): number => {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : -1
}

/** Compares byte by byte: for a few bytes, a call into Node takes longer. */
export function hasBytesAt(bytes: Buffer, at: number, wanted: Buffer): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false
  return true
}

function put(buffer: Buffer, at: number, bytes: Buffer): number {
  for (let i = 0; i < bytes.length; i++) buffer[at + i] = bytes[i] as number
  return at + bytes.length
}

/** The most bytes that UTF-8 needs for one UTF-16 code unit. */
const maxUnitBytes = 3
const minBufferBytes = 4 << 10
/** A buffer that one large group has made larger than this is released. */
const maxKeptBytes = 1 << 20

/** Lines with their checksums, gathered for one write. The next group uses the same memory. */
export class LineBuffer {
  #buffer = Buffer.alloc(0)
  #end = 0
  #lastStart = 0

  /** The lines since the last `clear`; valid until the next. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#end)
  }

  /** The last line, without its newline. */
  get last(): Buffer {
    return this.#buffer.subarray(this.#lastStart, this.#end - 1)
  }

  /** Adds this text, its checksum and a newline. */
  add(text: string): void {
    this.#reserve(text.length * maxUnitBytes + checksumBytes + 1)
    const start = this.#end
    const end = start + this.#buffer.write(text, start)
    this.#end = endLine(this.#buffer, start, end)
    this.#lastStart = start
  }

  clear(): void {
    this.#end = 0
    if (this.#buffer.length > maxKeptBytes) this.#buffer = Buffer.alloc(0)
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(minBufferBytes, needed, this.#buffer.length * 2))
    this.#buffer.copy(larger, 0, 0, this.#end)
    this.#buffer = larger
  }
}
