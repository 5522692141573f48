import type { AuditCheckpoint } from './audit-checkpoint.ts'
import type { Line } from './lines.ts'
import { hasBytesAt, checksumBytes, checksumAt, checksumOf } from './line-checksum.ts'

/** One line of a journal, or of an audit log. */
export interface LogRecord extends RecordHeader {
  type: string
  data: unknown
  /** In place of data that is too large for a line. */
  blob?: BlobName
  /** A slot's record: which slot was set; its data is the value. */
  slot?: { ext: string; version: string }
  /** How far the audit log had come: on the first record of a group, when it has changed. */
  audit?: AuditCheckpoint
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
  const dataAt = endOfText(chunk, typeAt, textEnd)
  return { seq, at, group, epoch, crc, typeAt: typeAt - start, dataAt: dataAt - start }
}

/** How far `numberAfter` has come: a result of two values would cost as much as its work. */
let cursor = 0

/** The number that follows a label at the cursor; -1 if there is none. */
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

/** Just after the quote that ends a text. */
function endOfText(bytes: Buffer, from: number, until: number): number {
  let at = from
  while (at < until && bytes[at] !== 0x22) at += bytes[at] === 0x5c ? 2 : 1
  return at + 1
}

/** Told by the first bytes, so that all other lines need not be parsed. */
export const hasPrefix = (line: Line, { typeAt }: CheckedHeader, prefix: Buffer): boolean =>
  hasBytesAt(line.chunk, line.start + typeAt, prefix)

/** Does its data lie in a blob? */
export const hasBlob = (line: Line, { dataAt }: CheckedHeader): boolean =>
  hasBytesAt(line.chunk, line.start + dataAt, blobField)

const blobField = Buffer.from(',"blob":')

/** The record of a line that was checked. */
export const parseLogRecord = (line: Buffer): LogRecord => JSON.parse(line.toString()) as LogRecord
