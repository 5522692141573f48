import type { Region } from '../medium.ts'
import { checksumOf } from './codec.ts'

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
  /** Set if the next line belongs to the same append: without that, this line does not count. */
  continued?: boolean
  /** On the first record of a group of the journal, if the audit log has grown since the last. */
  audit?: AuditCheckpoint
}

/** One line of a journal or an audit log. */
export interface LogRecord extends RecordHeader, StoredRecord {
  /** Set instead of data that is too large for a line. */
  blob?: BlobName
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

/** The checkpoint that attests the most lines. */
export const furthestCheckpoint = (
  checkpoints: readonly (AuditCheckpoint | undefined)[],
): AuditCheckpoint | undefined =>
  checkpoints.reduce<AuditCheckpoint | undefined>(
    (most, other) => (other !== undefined && other.count > (most?.count ?? 0) ? other : most),
    undefined,
  )

/** A line of a region, without its newline. It is a part of a buffer, and valid as long as the region is. */
export class Line {
  readonly chunk: Buffer
  readonly start: number
  readonly end: number
  readonly region: Region
  /** False for the bytes after the last newline. */
  readonly ended: boolean

  constructor(region: Region, start: number, end: number, ended: boolean) {
    this.chunk = region.bytes
    this.region = region
    this.start = start
    this.end = end
    this.ended = ended
  }

  get bytes(): Buffer {
    return this.chunk.subarray(this.start, this.end)
  }

  /** Where the line begins in its segment. */
  get offset(): number {
    return this.region.offset + this.start
  }

  /** Where the next line begins in its segment. */
  get next(): number {
    return this.region.offset + this.end + (this.ended ? 1 : 0)
  }

  /** Its header; undefined unless the line is complete, and every byte is as it was written. */
  get header(): CheckedHeader | undefined {
    return this.ended ? checkRecord(this.chunk, this.start, this.end) : undefined
  }
}

const newline = 0x0a

/** The lines of a region. Skips empty ones, which fill the end of a segment. */
export function* linesForwards(region: Region): Generator<Line> {
  const { bytes } = region
  for (let start = 0; start < bytes.length;) {
    if (bytes[start] === newline) {
      start += 1
      continue
    }
    const at = bytes.indexOf(newline, start)
    const end = at < 0 ? bytes.length : at
    yield new Line(region, start, end, at >= 0)
    start = end + 1
  }
}

/** The lines of a region from the last to the first. */
export function* linesBackwards(region: Region): Generator<Line> {
  const { bytes } = region
  let ended = false
  for (let stop = bytes.length; ;) {
    for (; stop > 0 && bytes[stop - 1] === newline; stop--) ended = true
    if (stop === 0) return
    const start = bytes.lastIndexOf(newline, stop - 1) + 1
    yield new Line(region, start, stop, ended)
    stop = start
  }
}

/** The header of a line whose checksum is right. */
export interface CheckedHeader extends RecordHeader {
  crc: string
  /** Is it one of stint's own records, which alone change the state? */
  isOwn: boolean
}

const header =
  /^\{"seq":(\d{1,15}),"at":(\d{1,15}),"group":(\d{1,15}),"epoch":(\d{1,15}),("continued":true,)?(?:"audit":\{"count":(\d{1,15}),"head":"([0-9a-f]{64})"\},)?"type":"(stint\.)?/
/** The most bytes that the header has. */
const headerBytes = 256

/**
 * Checks a line, which is a part of a chunk and excludes the newline, and reads its header; undefined if any
 * byte is not as it was written.
 */
export function checkRecord(chunk: Buffer, start = 0, end = chunk.length): CheckedHeader | undefined {
  const crc = checksumOf(chunk, start, end)
  if (crc === undefined) return undefined
  const match = header.exec(chunk.toString('latin1', start, Math.min(end, start + headerBytes)))
  if (match === null) return undefined
  const [, seq, at, group, epoch, continued, count, head = '', own] = match
  const checked: CheckedHeader = {
    seq: Number(seq),
    at: Number(at),
    group: Number(group),
    epoch: Number(epoch),
    crc,
    isOwn: own !== undefined,
  }
  if (continued !== undefined) checked.continued = true
  if (count !== undefined) checked.audit = { count: Number(count), head }
  return checked
}

/** Parses a line that was checked. */
export const parseLogRecord = (line: Buffer): LogRecord => JSON.parse(line.toString()) as LogRecord

const blobField = Buffer.from(',"blob":{"sha256":"')

/** The blob that a line names; undefined if its data is in the line. */
export const blobOf = (line: Buffer): BlobName | undefined =>
  line.includes(blobField) ? parseLogRecord(line).blob : undefined
