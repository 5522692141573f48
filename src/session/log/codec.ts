import { createHash } from 'node:crypto'
import { checksumBytes, withChecksum } from './line-checksum.ts'
import type { LogEnd, LogEnds, LogName } from './log-end.ts'
import { type BlobName, continuedField, type LogEntry, type RecordHeader } from './record.ts'

/**
 * How the lines of a log are written and summed. The sum of a line identifies it: the checksum of a journal
 * line, the hash of an audit line, which also chains it to the line before.
 */
export interface Codec {
  /** The sum that stands for the line before the first one. */
  readonly genesis: string
  /** Encodes a line, without its checksum. `previous` is the sum of the line before it. */
  text(header: RecordHeader, body: string, previous: string): string
  /** The sum of a line whose checksum is right. */
  sumOf(line: Buffer): string
  /** Is the line chained to the line with this sum? Undefined if the lines of the log are not chained. */
  follows?: (line: Buffer, previous: string) => boolean
}

const opening = ({ seq, at, group, epoch }: RecordHeader, body: string): string =>
  `{"seq":${seq},"at":${at},"group":${group},"epoch":${epoch},${body}`

/**
 * A journal line is a JSON object with its checksum last. The fields of the header come first and in this
 * order, so that a line can be checked without parsing it; other JSON is not accepted.
 */
export const journalCodec: Codec = {
  genesis: '',
  text: opening,
  sumOf: (line) => line.toString('latin1', line.length - 10, line.length - 2),
}

/**
 * An audit line also has the hash of the line before it, and the hash of all its own bytes up to there. A
 * line that is changed, removed, moved or inserted breaks the chain.
 */
export const auditCodec: Codec = {
  genesis: '0'.repeat(64),
  text(header, body, previous) {
    const text = `${opening(header, body)},"prev":"${previous}"`
    return `${text},"hash":"${createHash('sha256').update(text).digest('hex')}"`
  },
  follows(line, previous) {
    const end = line.length - checksumBytes - hashBytes
    const start = end - prevBytes
    if (start < 0 || line.toString('latin1', start, end) !== `,"prev":"${previous}"`) return false
    const hash = createHash('sha256').update(line.subarray(0, end)).digest('hex')
    return line.toString('latin1', end, end + hashBytes) === `,"hash":"${hash}"`
  },
  sumOf: (line) => line.toString('latin1', line.length - checksumBytes - 65, line.length - checksumBytes - 1),
}

const hashBytes = `,"hash":"${'0'.repeat(64)}"`.length
const prevBytes = `,"prev":"${'0'.repeat(64)}"`.length

/** The codec of each log. */
export const codecs: Readonly<Record<LogName, Codec>> = { journal: journalCodec, audit: auditCodec }

/** The end of a log that has no records. */
export const emptyLogEnd = (log: LogName): LogEnd => ({ seq: 0, sum: codecs[log].genesis })

export const emptyLogEnds: LogEnds = { journal: emptyLogEnd('journal'), audit: emptyLogEnd('audit') }

/** Encodes a line with its checksum and without a newline. */
export function encodeLine(
  codec: Codec,
  header: RecordHeader,
  body: string,
  previous: string,
): { line: string; sum: string } {
  const line = withChecksum(codec.text(header, body, previous))
  return { line, sum: codec.sumOf(Buffer.from(line)) }
}

/** Data of a record over this many UTF-16 code units of JSON goes into a blob. */
export const maxInlineBytes = 256 << 10

/**
 * Encodes the part of a line that does not depend on when it is written. With a blob, the line names that
 * instead of the data: until the blob is stored, no such line may be written. `isContinued`: the next line of
 * the journal belongs to the same append, so this one does not count without it.
 */
export function encodeEntry(
  { type, json, slot, masked }: LogEntry,
  blob?: BlobName,
  isContinued = false,
): string {
  let body = blob === undefined ? encodeBody(type, json) : encodeBlobBody(type, blob)
  if (slot !== undefined) body += encodeField('slot', slot)
  if (masked) body += encodeField('masked', true)
  // Last in the body: `isContinued` in record.ts finds it from the end of the line.
  return isContinued ? body + continuedField : body
}

/** Encodes the field by which the journal attests how far the audit log has come; '' while that is empty. */
export const encodeCheckpoint = ({ seq, sum }: LogEnd): string =>
  seq === 0 ? '' : encodeField('audit', { count: seq, head: sum })

/** Encodes the type and the data of a line. `json` is the data as JSON. */
export function encodeBody(type: string, json: string): string {
  if (type !== lastType.type) lastType = { type, field: `"type":${oneLine(JSON.stringify(type))}` }
  return `${lastType.field},"data":${oneLine(json)}`
}

/** The last type and its field. A program appends many records of one type, and each would cost two calls. */
let lastType = { type: '', field: '"type":""' }

const encodeBlobBody = (type: string, { sha256, bytes }: BlobName): string =>
  oneLine(`"type":${JSON.stringify(type)},"blob":{"sha256":"${sha256}","bytes":${bytes}}`)

/** Encodes a field that follows the data. */
const encodeField = (name: 'slot' | 'masked' | 'audit', value: unknown): string =>
  oneLine(`,"${name}":${JSON.stringify(value)}`)

/**
 * Escapes the two characters that JSON allows in a line and some readers take for line ends. `includes` does
 * not look through a string of one-byte characters, which a regular expression would.
 */
const oneLine = (text: string): string =>
  text.includes('\u2028') || text.includes('\u2029')
    ? text.replaceAll('\u2028', String.raw`\u2028`).replaceAll('\u2029', String.raw`\u2029`)
    : text
