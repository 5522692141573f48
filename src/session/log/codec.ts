import { createHash } from 'node:crypto'
import type { LogEntry } from '../driver.ts'
import { checksumBytes, withChecksum } from './line-checksum.ts'
import type { LogEnd, LogEnds, LogName } from './log-end.ts'
import type { BlobName, RecordHeader } from './record.ts'

/** How the lines of a log hang together. `tail` is what a line leaves for the next: what proves that nothing was exchanged between them. */
export interface Codec {
  /** The tail before the first line. */
  readonly genesis: string
  /** A line without its seal. */
  text(header: RecordHeader, body: string, tail: string): string
  /** The tail of a line whose sum is right. */
  tailOf(line: Buffer): string
  /** Does such a line follow this tail? Without it, any line follows any other. */
  follows?: (line: Buffer, tail: string) => boolean
}

const opening = ({ seq, at, group, epoch }: RecordHeader, body: string): string =>
  `{"seq":${seq},"at":${at},"group":${group},"epoch":${epoch},${body}`

/**
 * A JSON object on a line of its own, with its checksum last. Nobody else's line is accepted: the header's fields come first, in this
 * order, so that a line can be checked without being parsed. Its tail is its sum.
 */
export const journalCodec: Codec = {
  genesis: '',
  text: opening,
  tailOf: (line) => line.toString('latin1', line.length - 10, line.length - 2),
}

/**
 * The same for an audit log: each line has the hash of the one before it, and its own, of every byte before that. What is changed, removed, put
 * elsewhere or put in between breaks the chain.
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

/** How each log is written. */
export const codecs: Readonly<Record<LogName, Codec>> = { journal: journalCodec, audit: auditCodec }

/** The end of a log that has no records. */
export const emptyLogEnd = (log: LogName): LogEnd => ({ seq: 0, tail: codecs[log].genesis })

export const emptyLogEnds: LogEnds = { journal: emptyLogEnd('journal'), audit: emptyLogEnd('audit') }

/** A line without its newline, and the tail it leaves. */
export function encodeLine(
  codec: Codec,
  header: RecordHeader,
  body: string,
  tail: string,
): { line: string; tail: string } {
  const line = withChecksum(codec.text(header, body, tail))
  return { line, tail: codec.tailOf(Buffer.from(line)) }
}

/** Data of a record over this many characters goes into a blob. */
export const maxInlineBytes = 256 << 10

/**
 * Encodes the part of a line that does not depend on when it is written. Data over `inlineBytes` is given to `putBlob`
 * first: until the blob is stored, no line may name it.
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

/** A field that follows the data. */
const encodeField = (name: 'slot' | 'spool' | 'audit', value: unknown): string =>
  oneLine(`,"${name}":${JSON.stringify(value)}`)

/** Some readers take these two characters for line ends. */
const oneLine = (text: string): string =>
  /[\u2028\u2029]/.test(text)
    ? text.replaceAll('\u2028', String.raw`\u2028`).replaceAll('\u2029', String.raw`\u2029`)
    : text
