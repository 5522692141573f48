import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Line } from './lines.ts'

/** One line of a journal, or of an audit log. */
export interface LogRecord extends RecordHeader {
  type: string
  data: unknown
  /** In place of data that is too large for a line. */
  blob?: BlobName
  /** A slot's record: which slot was set; its data is the value. */
  slot?: { ext: string; version: string }
  /** How far the audit log had come: on the first record of a group, when it has changed. */
  audit?: { count: number; head: string }
  /** The entry of a spool file that this came from. */
  spool?: string
  /** Audit: the hash of the line before, and its own. */
  prev?: string
  hash?: string
}

/** What recovery needs to know of a line. */
export interface RecordHeader {
  /** From 1 on, without a hole. */
  seq: number
  /** Milliseconds since the epoch. */
  at: number
  /** The `seq` of the first record that was synced together with this one. */
  group: number
  /** The writer's epoch of the session's lock. */
  epoch: number
}

/** The header of a line that is, to the byte, what was written. */
export interface CheckedHeader extends RecordHeader {
  /** Its sum. */
  crc: number
  /** Where in the line the text of its type begins, and where its data, or what stands for it, does. */
  typeAt: number
  dataAt: number
}

/** Content that is kept in a file of its own, named by its hash. */
export interface BlobName {
  sha256: string
  bytes: number
}

/** How lines are made and checked. `tail` is what a line leaves for the next: what proves that nothing was exchanged between them. */
export interface Codec {
  /** The tail before the first line. */
  readonly genesis: string
  encode(header: RecordHeader, body: string, tail: string): { line: string; tail: string }
  /** The tail of a line whose sum is right. */
  tailOf(line: Buffer): string
  /** Does such a line follow this tail? Without it, any line follows any other. */
  follows?: (line: Buffer, tail: string) => boolean
}

/** `,"crc":"01234567"}`, the last bytes of a line: the sum is of every byte before them. */
const trailerBytes = 18

const byteTexts = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** A sum as it is written. From a table: `toString(16)` takes as long as the sum itself. */
export const sumText = (sum: number): string =>
  `${byteTexts[sum >>> 24]}${byteTexts[(sum >>> 16) & 255]}${byteTexts[(sum >>> 8) & 255]}${byteTexts[sum & 255]}`

/** Closes an object's text with the sum of it. */
export const sealed = (text: string): string => `${text},"crc":"${sumText(crc32(text))}"}`

/** The text before the sum, if the sum is right. */
export function unsealed(bytes: Buffer): Buffer | undefined {
  const end = bytes.length - trailerBytes
  const sum = sumAt(bytes, end)
  const text = bytes.subarray(0, Math.max(0, end))
  return sum !== undefined && sum === crc32(text) ? text : undefined
}

const trailer = Buffer.from(',"crc":"')

/** The sum that a trailer at this place names. */
function sumAt(bytes: Buffer, at: number): number | undefined {
  if (at < 0 || !isThere(bytes, at, trailer)) return undefined
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

function isThere(bytes: Buffer, at: number, wanted: Buffer): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false
  return true
}

const crcOf = (line: Buffer | string): string => line.slice(-10, -2).toString()

const opening = ({ seq, at, group, epoch }: RecordHeader, body: string): string =>
  `{"seq":${seq},"at":${at},"group":${group},"epoch":${epoch},${body}`

/**
 * A JSON object on a line of its own, with its checksum last. Nobody else's line is accepted: the header's fields come first, in this
 * order, so that a line can be checked without being parsed. Its tail is its sum.
 */
export const journalCodec: Codec = {
  genesis: '',
  encode(header, body) {
    const text = opening(header, body)
    const tail = sumText(crc32(text))
    return { line: `${text},"crc":"${tail}"}\n`, tail }
  },
  tailOf: (line) => crcOf(line),
}

/**
 * The same for an audit log: each line has the hash of the one before it, and its own, of every byte before that. What is changed, removed, put
 * elsewhere or put in between breaks the chain.
 */
export const auditCodec: Codec = {
  genesis: '0'.repeat(64),
  encode(header, body, tail) {
    const text = `${opening(header, body)},"prev":"${tail}"`
    const hash = createHash('sha256').update(text).digest('hex')
    return { line: `${sealed(`${text},"hash":"${hash}"`)}\n`, tail: hash }
  },
  follows(line, tail) {
    const end = line.length - trailerBytes - hashBytes
    const start = end - prevBytes
    if (start < 0 || line.toString('latin1', start, end) !== `,"prev":"${tail}"`) return false
    const hash = createHash('sha256').update(line.subarray(0, end)).digest('hex')
    return line.toString('latin1', end, end + hashBytes) === `,"hash":"${hash}"`
  },
  tailOf: (line) => line.toString('latin1', line.length - trailerBytes - 65, line.length - trailerBytes - 1),
}

const hashBytes = `,"hash":"${'0'.repeat(64)}"`.length
const prevBytes = `,"prev":"${'0'.repeat(64)}"`.length

/** The part of a line that does not depend on when it is written. `json` is the data's text, or what stands for it. */
export const encodeBody = (type: string, json: string): string =>
  `"type":${oneLine(JSON.stringify(type))},"data":${oneLine(json)}`

/** The same for data in a blob. */
export const encodeBlobBody = (type: string, { sha256, bytes }: BlobName): string =>
  oneLine(`"type":${JSON.stringify(type)},"blob":{"sha256":"${sha256}","bytes":${bytes}}`)

/** Further fields of a line, after its data. */
export const encodeField = (name: 'slot' | 'spool' | 'audit', value: unknown): string =>
  oneLine(`,"${name}":${JSON.stringify(value)}`)

/** Some readers take these two characters for line ends. */
const oneLine = (text: string): string =>
  /[\u2028\u2029]/.test(text)
    ? text.replaceAll('\u2028', String.raw`\u2028`).replaceAll('\u2029', String.raw`\u2029`)
    : text

const [seqLabel, atLabel, groupLabel, epochLabel, typeLabel] = [
  '{"seq":',
  ',"at":',
  ',"group":',
  ',"epoch":',
  ',"type":"',
].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer, Buffer, Buffer]
const maxDigits = 15

/**
 * Checks a line (without its newline), which is a part of a chunk, and reads its header; undefined if it is not, to the byte, what was written. Byte by
 * byte: a recovery does this a million times.
 */
export function checkRecord(chunk: Buffer, start = 0, end = chunk.length): CheckedHeader | undefined {
  const textEnd = end - trailerBytes
  const crc = textEnd < start ? undefined : sumAt(chunk, textEnd)
  if (crc === undefined) return undefined
  // Not `subarray`: that takes as long as the sum.
  if (crc !== crc32(new Uint8Array(chunk.buffer, chunk.byteOffset + start, textEnd - start))) return undefined
  cursor = start
  const seq = numberAfter(chunk, seqLabel)
  const at = numberAfter(chunk, atLabel)
  const group = numberAfter(chunk, groupLabel)
  const epoch = numberAfter(chunk, epochLabel)
  if (seq < 0 || at < 0 || group < 0 || epoch < 0 || !isThere(chunk, cursor, typeLabel)) return undefined
  const typeAt = cursor + typeLabel.length
  const dataAt = endOfText(chunk, typeAt, textEnd)
  return { seq, at, group, epoch, crc, typeAt: typeAt - start, dataAt: dataAt - start }
}

/** How far `numberAfter` has come: a result of two values would cost as much as its work. */
let cursor = 0

/** The number that follows a label at the cursor; -1 if there is none. */
function numberAfter(bytes: Buffer, label: Buffer): number {
  if (!isThere(bytes, cursor, label)) return -1
  const from = cursor + label.length
  let [at, value] = [from, 0]
  for (; at - from <= maxDigits; at++) {
    const code = bytes[at] as number
    if (code < 0x30 || code > 0x39) break
    value = value * 10 + code - 0x30
  }
  cursor = at
  return at === from || at - from > maxDigits ? -1 : value
}

/** Just after the quote that ends a text. */
function endOfText(bytes: Buffer, from: number, until: number): number {
  let at = from
  while (at < until && bytes[at] !== 0x22) at += bytes[at] === 0x5c ? 2 : 1
  return at + 1
}

/** Told by the first bytes, so that all other lines need not be parsed. */
export const hasPrefix = (line: Line, { typeAt }: CheckedHeader, prefix: Buffer): boolean =>
  isThere(line.chunk, line.start + typeAt, prefix)

/** Does its data lie in a blob? */
export const hasBlob = (line: Line, { dataAt }: CheckedHeader): boolean =>
  isThere(line.chunk, line.start + dataAt, blobField)

const blobField = Buffer.from(',"blob":')

/** The record of a line that was checked. */
export const parseRecord = (line: Buffer): LogRecord => JSON.parse(line.toString()) as LogRecord

/** Both. */
export const decodeRecord = (line: Buffer): LogRecord | undefined =>
  checkRecord(line) === undefined ? undefined : parseRecord(line)
