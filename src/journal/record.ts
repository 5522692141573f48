import { crc32 } from 'node:zlib'

/** One line of a journal. */
export interface JournalRecord extends RecordHeader {
  /** Milliseconds since the epoch. */
  at: number
  type: string
  data: unknown
}

/** What recovery needs to know of a line. */
export interface RecordHeader {
  /** From 1 on, without a hole. */
  seq: number
  /** The `seq` of the first record that was synced together with this one. */
  group: number
  /** The writer's epoch of the session's lock. */
  epoch: number
}

const newline = 0x0a
/** `,"crc":"01234567"}`, the last bytes of a line: the sum is of every byte before them. */
const trailerBytes = 18

/**
 * A JSON object on a line of its own, with its checksum last. Nobody else's line is accepted: the header's fields come first, in this
 * order, so that a line can be checked without being parsed. `body` is what `encodeBody` made.
 */
export function encodeLine({ seq, group, epoch }: RecordHeader, at: number, body: string): string {
  const text = `{"seq":${seq},"at":${at},"group":${group},"epoch":${epoch},${body}`
  return `${text},"crc":"${hex(crc32(text))}"}\n`
}

/** The part of a line that does not depend on when it is written. Throws what `JSON.stringify` throws. */
export const encodeBody = (type: string, data: unknown): string =>
  oneLine(`"type":${JSON.stringify(type)},"data":${JSON.stringify(data) ?? 'null'}`)

/** Some readers take these two characters for line ends. */
const oneLine = (text: string): string =>
  text.replaceAll('\u2028', String.raw`\u2028`).replaceAll('\u2029', String.raw`\u2029`)

const hex = (sum: number): string => sum.toString(16).padStart(8, '0')

/** Checks a line (without its newline) and reads its header; undefined if it is not, to the byte, what was written. */
export function checkRecord(line: Buffer): RecordHeader | undefined {
  const end = line.length - trailerBytes
  if (end < 0 || line.includes(newline)) return undefined
  const trailer = line.toString('latin1', end)
  const sum = /^,"crc":"([0-9a-f]{8})"\}$/.exec(trailer)?.[1]
  if (sum === undefined || Number.parseInt(sum, 16) !== crc32(line.subarray(0, end))) return undefined
  const header = /^\{"seq":(\d{1,15}),"at":\d{1,15},"group":(\d{1,15}),"epoch":(\d{1,15}),"type":"/.exec(
    line.toString('latin1', 0, Math.min(end, 120)),
  )
  if (header === null) return undefined
  return { seq: Number(header[1]), group: Number(header[2]), epoch: Number(header[3]) }
}

/** The record of a line that was checked. */
export const parseRecord = (line: Buffer): JournalRecord => {
  const { seq, at, group, epoch, type, data } = JSON.parse(line.toString()) as JournalRecord
  return { seq, at, group, epoch, type, data }
}

/** Both. */
export const decodeRecord = (line: Buffer): JournalRecord | undefined =>
  checkRecord(line) === undefined ? undefined : parseRecord(line)
