import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'

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
  /** The tail of a line whose sum is right; undefined if it does not follow the tail before it. */
  follow(line: Buffer, tail: string): string | undefined
  /** The same without asking what came before. */
  tailOf(line: Buffer): string
}

const newline = 0x0a
/** `,"crc":"01234567"}`, the last bytes of a line: the sum is of every byte before them. */
const trailerBytes = 18

const hex = (sum: number): string => sum.toString(16).padStart(8, '0')

/** Closes an object's text with the sum of it. */
export const sealed = (text: string): string => `${text},"crc":"${hex(crc32(text))}"}`

/** The text before the sum, if the sum is right. */
export function unsealed(bytes: Buffer): Buffer | undefined {
  const end = bytes.length - trailerBytes
  if (end < 0) return undefined
  const sum = /^,"crc":"([0-9a-f]{8})"\}$/.exec(bytes.toString('latin1', end))?.[1]
  const text = bytes.subarray(0, end)
  return sum !== undefined && Number.parseInt(sum, 16) === crc32(text) ? text : undefined
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
    const line = sealed(opening(header, body))
    return { line: `${line}\n`, tail: crcOf(line) }
  },
  follow: (line) => crcOf(line),
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
  follow(line, tail) {
    const end = line.length - trailerBytes - hashBytes
    const start = end - prevBytes
    if (start < 0) return undefined
    if (line.toString('latin1', start, end) !== `,"prev":"${tail}"`) return undefined
    const hash = createHash('sha256').update(line.subarray(0, end)).digest('hex')
    return line.toString('latin1', end, end + hashBytes) === `,"hash":"${hash}"` ? hash : undefined
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

/** Checks a line (without its newline) and reads its header; undefined if it is not, to the byte, what was written. */
export function checkRecord(line: Buffer): RecordHeader | undefined {
  if (unsealed(line) === undefined || line.includes(newline)) return undefined
  const header = /^\{"seq":(\d{1,15}),"at":(\d{1,15}),"group":(\d{1,15}),"epoch":(\d{1,15}),"type":"/.exec(
    line.toString('latin1', 0, 120),
  )
  if (header === null) return undefined
  const [seq, at, group, epoch] = header.slice(1).map(Number) as [number, number, number, number]
  return { seq, at, group, epoch }
}

/** The record of a line that was checked. */
export const parseRecord = (line: Buffer): LogRecord => JSON.parse(line.toString()) as LogRecord

/** Both. */
export const decodeRecord = (line: Buffer): LogRecord | undefined =>
  checkRecord(line) === undefined ? undefined : parseRecord(line)
