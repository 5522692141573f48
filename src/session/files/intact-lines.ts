import { join } from 'node:path'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { readFully } from '../../base/fs/disk.ts'
import { stepEnds } from '../../base/process/run-generator.ts'
import type { Codec } from '../log/codec.ts'
import { linesFrom } from '../log/lines.ts'
import { listSegments, type LogFiles, openSegment } from '../log/log-files.ts'
import { type BlobName, checkRecord, parseLogRecord } from '../log/record.ts'
import type { Leftover } from '../log/scan.ts'
import { turnType } from '../state.ts'

/** A line that is as it was written, and where it is. A repair keeps only these numbers of each in memory. */
export interface IntactLine {
  seq: number
  /** Milliseconds since the epoch. */
  at: number
  isTurn: boolean
  blob: BlobName | undefined
  segment: string
  offset: number
  bytes: number
}

/** The lines of a damaged log that are as they were written, in order, each once. */
export interface IntactLines {
  lines: IntactLine[]
  /** Bytes in which there is no such line. */
  unreadable: Leftover[]
  /** How many lines of the audit log the intact lines of a journal attest. */
  audited: number
}

/** Reads all segments of a log, in steps. */
export function* findIntactLines(files: LogFiles): Generator<void, IntactLines> {
  const intact = new Map<number, IntactLine>()
  const unreadable: Leftover[] = []
  let audited = 0
  const isStepOver = stepEnds()
  for (const { name: segment, firstSeq, until } of listSegments(files)) {
    using file = openSegment(files, segment)
    for (const line of linesFrom(file.read)) {
      if (isStepOver()) yield
      let isReadable = false
      for (const [start, bytes] of linesWithin(line.bytes)) {
        const header = checkRecord(bytes)
        const record =
          header && isAsHashed(bytes, files.codec) ? ifPossible(() => parseLogRecord(bytes)) : undefined
        if (header === undefined || record === undefined) continue
        isReadable = true
        const { seq, at } = header
        // The next segment supersedes the records from `until` on.
        if (seq < firstSeq || seq >= until || intact.has(seq)) continue
        const { blob, type, audit } = record
        audited = Math.max(audited, audit?.count ?? 0)
        const place = { segment, offset: line.offset + start, bytes: bytes.length }
        intact.set(seq, { seq, at, isTurn: type === turnType, blob, ...place })
      }
      if (!isReadable)
        addLeftover(unreadable, { segment, offset: line.offset, bytes: line.next - line.offset })
    }
  }
  return { lines: [...intact.values()].sort((a, b) => a.seq - b.seq), unreadable, audited }
}

const lineStart = '{"seq":'

/** A line, or the lines that a damaged one may consist of: the damaged byte may have been a newline. */
function* linesWithin(bytes: Buffer): Generator<[start: number, line: Buffer]> {
  if (checkRecord(bytes) !== undefined) {
    yield [0, bytes]
    return
  }
  const starts: number[] = []
  for (let at = bytes.indexOf(lineStart); at >= 0; at = bytes.indexOf(lineStart, at + 1)) starts.push(at)
  for (const [i, start] of starts.entries()) {
    // Each ends where the newline was, before the next. The start of a line may also occur in its data.
    for (const next of starts.slice(i + 1, i + 9)) yield [start, bytes.subarray(start, next - 1)]
    yield [start, bytes.subarray(start)]
  }
}

const prevField = /,"prev":"([0-9a-f]{64})","hash":"[0-9a-f]{64}","crc":"[0-9a-f]{8}"\}$/

/** Does an audit line match its own hash, whatever line came before it? */
function isAsHashed(line: Buffer, { follows }: Codec): boolean {
  if (follows === undefined) return true
  const end = line.toString('latin1', Math.max(0, line.length - 240))
  return follows(line, prevField.exec(end)?.[1] ?? '')
}

/** Adds bytes, joined to those that end where these begin. */
function addLeftover(leftovers: Leftover[], more: Leftover): void {
  const last = leftovers.at(-1)
  if (last?.segment === more.segment && last.offset + last.bytes === more.offset) last.bytes += more.bytes
  else leftovers.push(more)
}

/** Reads intact lines again. Opens each segment once. */
export class LineReader implements Disposable {
  readonly #files: LogFiles
  readonly #open = new Map<string, number>()

  constructor(files: LogFiles) {
    this.#files = files
  }

  read({ segment, offset, bytes }: IntactLine): string {
    const { disk, directory } = this.#files
    const file = this.#open.get(segment) ?? disk.openToRead(join(directory, segment))
    this.#open.set(segment, file)
    return readFully(disk, file, offset, bytes).toString()
  }

  [Symbol.dispose](): void {
    for (const file of this.#open.values()) this.#files.disk.close(file)
  }
}
