import { crc32 } from 'node:zlib'

/** `,"crc":"01234567"}`, the last bytes of a line: the sum is of every byte before them. */
export const checksumBytes = 18

const byteTexts = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** A sum as it is written. From a table: `toString(16)` takes as long as the sum itself. */
export const formatChecksum = (sum: number): string =>
  `${byteTexts[sum >>> 24]}${byteTexts[(sum >>> 16) & 255]}${byteTexts[(sum >>> 8) & 255]}${byteTexts[sum & 255]}`

/** Closes an object's text with the sum of it. */
export const withChecksum = (text: string): string => `${text},"crc":"${formatChecksum(crc32(text))}"}`

/** The text before the seal, if that is right. */
export function verifiedText(bytes: Buffer): Buffer | undefined {
  const end = bytes.length - checksumBytes
  const sum = checksumAt(bytes, end)
  const text = bytes.subarray(0, Math.max(0, end))
  return sum !== undefined && sum === crc32(text) ? text : undefined
}

const opening = Buffer.from(',"crc":"')
const closing = Buffer.from('"}\n')
const digits = Buffer.from('0123456789abcdef')

/** Seals what stands between two places of a buffer, ends the line, and returns where the next one begins. */
export function endLine(buffer: Buffer, start: number, end: number): number {
  let sum = checksumOf(buffer, start, end)
  let at = put(buffer, end, opening) + 8
  for (let i = 1; i <= 8; i++, sum >>>= 4) buffer[at - i] = digits[sum & 15] as number
  return put(buffer, at, closing)
}

/** The sum of a part of a buffer. Not by `subarray`: that takes as long as the sum. */
export const checksumOf = (buffer: Buffer, start: number, end: number): number =>
  crc32(new Uint8Array(buffer.buffer, buffer.byteOffset + start, end - start))

/** The sum that a seal at this place names. */
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

/** Byte by byte: for a few of them, a call would take longer. */
export function hasBytesAt(bytes: Buffer, at: number, wanted: Buffer): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false
  return true
}

function put(buffer: Buffer, at: number, bytes: Buffer): number {
  for (let i = 0; i < bytes.length; i++) buffer[at + i] = bytes[i] as number
  return at + bytes.length
}
