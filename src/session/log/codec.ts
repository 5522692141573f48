import { createHash } from 'node:crypto'
import type { LogEntry } from '../driver.ts'
import { checksumBytes, withChecksum } from './line-checksum.ts'
import type { LogEnd, LogEnds, LogName } from './log-end.ts'
import type { BlobName, RecordHeader } from './record.ts'

/**
 * How the lines of a log are written and chained. The next line builds on the chain value of a line: it
 * proves that no line between them was exchanged.
 */
export interface Codec {
  /** The chain value before the first line. */
  readonly genesis: string
  /** Encodes a line, without its checksum. */
  text(header: RecordHeader, body: string, tail: string): string
  /** The chain value of a line whose checksum is right. */
  tailOf(line: Buffer): string
  /** Is the line chained to this value? Undefined if the lines of the log are not chained. */
  follows?: (line: Buffer, tail: string) => boolean
}

const opening = ({ seq, at, group, epoch }: RecordHeader, body: string): string =>
  `{"seq":${seq},"at":${at},"group":${group},"epoch":${epoch},${body}`

/**
 * A journal line is a JSON object with its checksum last. The fields of the header come first and in this
 * order, so that a line can be checked without parsing it; other JSON is not accepted. The chain value is the
 * checksum.
 */
export const journalCodec: Codec = {
  genesis: '',
  text: opening,
  tailOf: (line) => line.toString('latin1', line.length - 10, line.length - 2),
}

/**
 * An audit line also has the hash of the line before it, and the hash of all its own bytes up to there. A
 * line that is changed, removed, moved or inserted breaks the chain. The chain value is the hash.
 */
export const auditCodec: Codec = {
  genesis: '0'.repeat(64),
  text(header, body, tail) {
    const text = `${opening(header, body)},"prev":"${tail}"`
    return `${text},"hash":"${createHash('sha256').update(text).digest('hex')}"`
  },
  follows(line, tail) {
    const end = line.length - checksumBytes - hashBytes
    const start = end - prevBytes
    if (start < 0 || line.toString('latin1', start, end) !== `,"prev":"${tail}"`) return false
    const hash = createHash('sha256').update(line.subarray(0, end)).digest('hex')
    return line.toString('latin1', end, end + hashBytes) === `,"hash":"${hash}"`
  },
  tailOf: (line) =>
    line.toString('latin1', line.length - checksumBytes - 65, line.length - checksumBytes - 1),
}

const hashBytes = `,"hash":"${'0'.repeat(64)}"`.length
const prevBytes = `,"prev":"${'0'.repeat(64)}"`.length

/** The codec of each log. */
export const codecs: Readonly<Record<LogName, Codec>> = { journal: journalCodec, audit: auditCodec }

/** The end of a log that has no records. */
export const emptyLogEnd = (log: LogName): LogEnd => ({ seq: 0, tail: codecs[log].genesis })

export const emptyLogEnds: LogEnds = { journal: emptyLogEnd('journal'), audit: emptyLogEnd('audit') }

/** Encodes a line with its checksum and without a newline. */
export function encodeLine(
  codec: Codec,
  header: RecordHeader,
  body: string,
  tail: string,
): { line: string; tail: string } {
  const line = withChecksum(codec.text(header, body, tail))
  return { line, tail: codec.tailOf(Buffer.from(line)) }
}

/** Data of a record over this many UTF-16 code units of JSON goes into a blob. */
export const maxInlineBytes = 256 << 10

/**
 * Encodes the part of a line that does not depend on when it is written. Data over `inlineBytes` is given to
 * `putBlob` first: until the blob is stored, no line may name it.
 */
export function encodeEntry(
  { type, json, slot, spool }: LogEntry,
  putBlob: (json: string) => BlobName,
  inlineBytes = maxInlineBytes,
): string {
  let body = json.length > inlineBytes ? encodeBlobBody(type, putBlob(json)) : encodeBody(type, json)
  if (slot !== undefined) body += encodeField('slot', slot)
  if (spool !== undefined) body += encodeField('spool', spool)
  return body
}

/** Encodes the field by which the journal attests how far the audit log has come; '' while that is empty. */
export const encodeCheckpoint = ({ seq, tail }: LogEnd): string =>
  seq === 0 ? '' : encodeField('audit', { count: seq, head: tail })

/** Encodes the type and the data of a line. `json` is the data as JSON. */
export const encodeBody = (type: string, json: string): string =>
  `"type":${oneLine(JSON.stringify(type))},"data":${oneLine(json)}`

const encodeBlobBody = (type: string, { sha256, bytes }: BlobName): string =>
  oneLine(`"type":${JSON.stringify(type)},"blob":{"sha256":"${sha256}","bytes":${bytes}}`)

/** Encodes a field that follows the data. */
const encodeField = (name: 'slot' | 'spool' | 'audit', value: unknown): string =>
  oneLine(`,"${name}":${JSON.stringify(value)}`)

/** Escapes the two characters that JSON allows in a line and some readers take for line ends. */
const oneLine = (text: string): string =>
  /[\u2028\u2029]/.test(text)
    ? text.replaceAll('\u2028', String.raw`\u2028`).replaceAll('\u2029', String.raw`\u2029`)
    : text
