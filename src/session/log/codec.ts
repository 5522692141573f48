import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { isCount, isRecord } from '../../base/text/fields.ts'
import type { AuditCheckpoint, BlobName, LogEntry, RecordHeader } from './record.ts'

/** The two logs of a session. */
export type LogName = 'journal' | 'audit'

export const logNames: readonly LogName[] = ['journal', 'audit']

/** A place just after a record of a log. */
export interface LogEnd {
  /** The number of that record; 0 before the first. */
  seq: number
  /** The sum of its line: the checksum in the journal, the hash in the audit log. */
  sum: string
}

/** Where both logs of a session end. */
export type LogEnds = Record<LogName, LogEnd>

export const isSameEnd = (one: LogEnd, other: LogEnd): boolean =>
  one.seq === other.seq && one.sum === other.sum

/** Both ends in the form in which a revision of the manifest attests them. */
export const attestEnds = ({ journal, audit }: LogEnds) => ({
  seq: journal.seq,
  crc: journal.sum,
  audit: checkpointAt(audit),
})

/** The end of the audit log, as other places attest it. */
export const checkpointAt = ({ seq, sum }: LogEnd): AuditCheckpoint => ({ count: seq, head: sum })

/** Both ends as JSON stores them: there, the sum is called `tail`. */
export function storedEnds({ journal, audit }: LogEnds): Record<LogName, object> {
  const stored = ({ sum: tail, ...end }: LogEnd): object => ({ ...end, tail })
  return { journal: stored(journal), audit: stored(audit) }
}

/** An end read from stored JSON, which may be damaged; undefined if it is invalid. */
export function parseLogEnd(value: unknown): LogEnd | undefined {
  if (!isRecord(value)) return undefined
  const { seq, tail: sum } = value
  return isCount(seq) && typeof sum === 'string' ? { seq, sum } : undefined
}

/** The length of `,"crc":"01234567"}`, the last bytes of a line: the CRC-32 of every byte before them. */
export const checksumBytes = 18

const byteTexts = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** Formats a checksum as eight hex digits. `toString(16)` would take as long as the checksum itself. */
export const formatChecksum = (sum: number): string =>
  `${byteTexts[sum >>> 24]}${byteTexts[(sum >>> 16) & 255]}${byteTexts[(sum >>> 8) & 255]}${byteTexts[sum & 255]}`

/** Closes the JSON of an object, which must lack its last brace, with a checksum. */
export const withChecksum = (text: string, sum = checksumOfText(text)): string => `${text},"crc":"${sum}"}`

const checksumOfText = (text: string): string => formatChecksum(crc32(text))

const checksumField = /^,"crc":"[0-9a-f]{8}"\}$/

/** Returns the checksum of a line, which is a part of a chunk; undefined if it is wrong or missing. */
export function checksumOf(chunk: Buffer, start: number, end: number): string | undefined {
  const textEnd = end - checksumBytes
  const field = textEnd < start ? '' : chunk.toString('latin1', textEnd, end)
  if (!checksumField.test(field)) return undefined
  const checksum = field.slice(8, 16)
  const isRight = Number.parseInt(checksum, 16) === crc32(chunk.subarray(start, textEnd))
  return isRight ? checksum : undefined
}

/**
 * How the lines of a log are written and summed. The sum of a line identifies it: the checksum of a journal
 * line, the hash of an audit line, which also chains it to the line before.
 */
export interface Codec {
  /** The sum that stands for the line before the first one. */
  readonly genesis: string
  /** Encodes a line without a newline. `previous` is the sum of the line before it. */
  encode(header: RecordHeader, body: string, previous: string): { line: string; sum: string }
  /** The sum of a line whose checksum is right. */
  sumOf(line: Buffer): string
  /** Is the line chained to the line with this sum? Undefined if the lines of the log are not chained. */
  follows?: (line: Buffer, previous: string) => boolean
}

/**
 * Encodes the fields of a header. They come first and in this order, so that a line can be checked without
 * parsing it; other JSON is not accepted.
 */
function encodeHeader({ seq, at, group, epoch, continued, audit }: RecordHeader): string {
  const together = continued ? '"continued":true,' : ''
  const checkpoint = audit === undefined ? '' : `"audit":{"count":${audit.count},"head":"${audit.head}"},`
  return `{"seq":${seq},"at":${at},"group":${group},"epoch":${epoch},${together}${checkpoint}`
}

/** A journal line is a JSON object with its checksum last. */
export const journalCodec: Codec = {
  genesis: '',
  encode(header, body) {
    const text = encodeHeader(header) + body
    const sum = checksumOfText(text)
    return { line: withChecksum(text, sum), sum }
  },
  sumOf: (line) => line.toString('latin1', line.length - 10, line.length - 2),
}

/**
 * An audit line also has the hash of the line before it, and the hash of all its own bytes up to there. A
 * line that is changed, removed, moved or inserted breaks the chain.
 */
export const auditCodec: Codec = {
  genesis: '0'.repeat(64),
  encode(header, body, previous) {
    const text = `${encodeHeader(header)}${body},"prev":"${previous}"`
    const sum = createHash('sha256').update(text).digest('hex')
    return { line: withChecksum(`${text},"hash":"${sum}"`), sum }
  },
  sumOf: (line) => line.toString('latin1', line.length - checksumBytes - 65, line.length - checksumBytes - 1),
  follows(line, previous) {
    const end = line.length - checksumBytes - hashBytes
    const start = end - prevBytes
    if (start < 0 || line.toString('latin1', start, end) !== `,"prev":"${previous}"`) return false
    const hash = createHash('sha256').update(line.subarray(0, end)).digest('hex')
    return line.toString('latin1', end, end + hashBytes) === `,"hash":"${hash}"`
  },
}

const hashBytes = `,"hash":"${'0'.repeat(64)}"`.length
const prevBytes = `,"prev":"${'0'.repeat(64)}"`.length

/** The codec of each log. */
export const codecs: Readonly<Record<LogName, Codec>> = { journal: journalCodec, audit: auditCodec }

/** The end of a log that has no records. */
export const emptyLogEnd = (log: LogName): LogEnd => ({ seq: 0, sum: codecs[log].genesis })

export const emptyLogEnds: LogEnds = { journal: emptyLogEnd('journal'), audit: emptyLogEnd('audit') }

/** Data of a record over this many UTF-16 code units of JSON goes into a blob. */
export const maxInlineChars = 256 << 10

/**
 * Encodes the part of a line that does not depend on when it is written. With a blob, the line names that
 * instead of the data: until the blob is stored, no such line may be written.
 */
export function encodeBody({ type, json, slot, masked }: LogEntry, blob?: BlobName): string {
  const data = blob === undefined ? `"data":${oneLine(json)}` : `"blob":${JSON.stringify(blob)}`
  const slotField = slot === undefined ? '' : `,"slot":${JSON.stringify(slot)}`
  return `"type":${oneLine(JSON.stringify(type))},${data}${slotField}${masked ? ',"masked":true' : ''}`
}

/**
 * Escapes the two characters that JSON allows in a line and some readers take for line ends. `includes` does
 * not look through a string of one-byte characters, which a regular expression would.
 */
const oneLine = (text: string): string =>
  text.includes('\u2028') || text.includes('\u2029')
    ? text.replaceAll('\u2028', String.raw`\u2028`).replaceAll('\u2029', String.raw`\u2029`)
    : text
