import { checksumAt, checksumBytes, checksumOf, hasBytesAt } from './line-checksum.ts'
import type { Line } from './lines.ts'

/** A record on its way to a log. */
export interface LogEntry {
  type: string
  /** The data as JSON; of any size. */
  json: string
  /** Which slot it sets; the data is the new value. */
  slot?: { ext: string; version: string }
  /** Were secrets or tokens in it replaced? The record says so, too. */
  masked?: boolean
}

/** A durable record: its number, when it was written, and in the audit log its hash. */
export interface StoredReceipt {
  seq: number
  /** Milliseconds since the epoch. */
  at: number
  hash?: string
}

/** A record as it was stored. */
export interface StoredRecord extends StoredReceipt {
  type: string
  data: unknown
  slot?: { ext: string; version: string }
  masked?: boolean
}

/** One line of a journal or an audit log. */
export interface LogRecord extends RecordHeader, StoredRecord {
  /** Set instead of data that is too large for a line. */
  blob?: BlobName
  /** On the first record of a group of the journal, if the audit log has grown since the last. */
  audit?: AuditCheckpoint
  /** Set if the next line belongs to the same append: without that, this line does not count. */
  continued?: true
  /** Audit log only: the hash of the line before. */
  prev?: string
}

/** The fields that every line begins with. */
export interface RecordHeader {
  /** The number of the record, from 1 on and without gaps. */
  seq: number
  /** Milliseconds since the epoch. */
  at: number
  /** The `seq` of the first record that was synced together with this one. */
  group: number
  /** The epoch of the writer's lock. */
  epoch: number
}

/** The header of a line whose checksum is right. */
export interface CheckedHeader extends RecordHeader {
  crc: number
  /** Where the text of the type begins in the line, and where the data, or the blob in its place, does. */
  typeAt: number
  dataAt: number
}

/** The name of content that is stored in a file of its own: its hash. */
export interface BlobName {
  sha256: string
  bytes: number
}

/** How far the audit log had come, attested outside of it: by the journal, a snapshot or the manifest. */
export interface AuditCheckpoint {
  /** The number of lines. */
  count: number
  /** The hash of the last one. */
  head: string
}

const [seqLabel, atLabel, groupLabel, epochLabel, typeLabel] = [
  '{"seq":',
  ',"at":',
  ',"group":',
  ',"epoch":',
  ',"type":"',
].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer, Buffer, Buffer]
const maxDigits = 15

/**
 * Checks a line, which is a part of a chunk and excludes the newline, and reads its header; undefined if any
 * byte is not as it was written. It goes byte by byte, because a recovery calls it a million times.
 */
export function checkRecord(chunk: Buffer, start = 0, end = chunk.length): CheckedHeader | undefined {
  const textEnd = end - checksumBytes
  const crc = textEnd < start ? undefined : checksumAt(chunk, textEnd)
  if (crc === undefined || crc !== checksumOf(chunk, start, textEnd)) return undefined
  cursor = start
  const seq = numberAfter(chunk, seqLabel)
  const at = numberAfter(chunk, atLabel)
  const group = numberAfter(chunk, groupLabel)
  const epoch = numberAfter(chunk, epochLabel)
  if (seq < 0 || at < 0 || group < 0 || epoch < 0 || !hasBytesAt(chunk, cursor, typeLabel)) return undefined
  const typeAt = cursor + typeLabel.length
  const dataAt = endOfString(chunk, typeAt, textEnd)
  return { seq, at, group, epoch, crc, typeAt: typeAt - start, dataAt: dataAt - start }
}

/** How far `numberAfter` has read. Returning it with the number would cost as much as reading it. */
let cursor = 0

/** Reads the number that follows a label at the cursor; -1 if there is none. */
function numberAfter(bytes: Buffer, label: Buffer): number {
  if (!hasBytesAt(bytes, cursor, label)) return -1
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

/** Returns the offset just after the quote that ends a JSON string. */
function endOfString(bytes: Buffer, from: number, until: number): number {
  let at = from
  while (at < until && bytes[at] !== 0x22) at += bytes[at] === 0x5c ? 2 : 1
  return at + 1
}

/** Does the type begin with this prefix? Tells from a few bytes, so that other lines need not be parsed. */
export const hasTypePrefix = (line: Line, { typeAt }: CheckedHeader, prefix: Buffer): boolean =>
  hasBytesAt(line.chunk, line.start + typeAt, prefix)

/** Is the data in a blob? */
export const hasBlob = (line: Line, { dataAt }: CheckedHeader): boolean =>
  hasBytesAt(line.chunk, line.start + dataAt, blobField)

const blobField = Buffer.from(',"blob":')

/** Parses a line that was checked. */
export const parseLogRecord = (line: Buffer): LogRecord => JSON.parse(line.toString()) as LogRecord

const checkpoint = /,"audit":\{"count":(\d{1,15}),"head":"([0-9a-f]{64})"\},"crc":"[0-9a-f]{8}"\}$/
const checkpointEndBytes = `":"${'0'.repeat(64)}"},"crc":"00000000"}`.length

/**
 * Reads the audit checkpoint at the end of a journal line, without parsing the line; undefined if it has
 * none. Data cannot be mistaken for a checkpoint, because another brace follows the data.
 */
export function checkpointOn({ chunk, start, end }: Line): AuditCheckpoint | undefined {
  // Most lines have no checkpoint, and three bytes tell: `":"` before the place of the hash.
  const at = end - checkpointEndBytes
  if (at < start || chunk[at] !== 0x22 || chunk[at + 1] !== 0x3a || chunk[at + 2] !== 0x22) return undefined
  const match = checkpoint.exec(chunk.toString('latin1', Math.max(start, end - 160), end))
  return match === null ? undefined : { count: Number(match[1]), head: match[2] as string }
}

/** The field of a line that does not count without the next one. */
export const continuedField = ',"continued":true'
const continuedBytes = Buffer.from(continuedField)

/**
 * Does the line count only together with the next one? Tells from its end, without parsing it. Data cannot be
 * mistaken for the field: a brace, a bracket or a quote follows whatever the data has.
 */
export function isContinued(line: Line): boolean {
  const { chunk, start, end } = line
  const at = end - checksumBytes - continuedBytes.length
  if (at <= start) return false
  if (hasBytesAt(chunk, at, continuedBytes)) return true
  // The first line of a group may have a checkpoint after it.
  if (checkpointOn(line) === undefined) return false
  const text = chunk.toString('latin1', Math.max(start, end - 190), end)
  return text.slice(0, text.lastIndexOf(',"audit":')).endsWith(continuedField)
}

/** The checkpoint that attests the most lines. */
export const furthestCheckpoint = (
  checkpoints: readonly (AuditCheckpoint | undefined)[],
): AuditCheckpoint | undefined =>
  checkpoints.reduce<AuditCheckpoint | undefined>(
    (most, each) => (each !== undefined && each.count > (most?.count ?? 0) ? each : most),
    undefined,
  )
