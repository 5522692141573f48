import { join } from 'node:path'
import { type Disk, listIfThere } from '../primitives/disk.ts'
import { linesFrom } from './lines.ts'
import type { Position } from './position.ts'
import { checkRecord, type Codec, type RecordHeader } from './record.ts'
import { inOrder, type LogName, type Segment } from './segment.ts'
import { LogJudge } from './verdict.ts'

/** Where a log is, and how its lines are made. */
export interface LogPlace {
  disk: Disk
  directory: string
  log: LogName
  codec: Codec
}

/** Bytes of a file that do not count. */
export interface Leftover {
  segment: string
  offset: number
  bytes: number
}

/** What a look at every line of a log has shown. */
export interface Scanned {
  state: 'whole' | 'torn' | 'damaged'
  /** After the last record that counts. */
  end: Position
  /** When that was written; undefined if the scan has met no record. */
  lastAt?: number
  /** Records and bytes that were read. */
  records: number
  bytes: number
  /** Torn: what follows was never acknowledged, or, in the last group, cannot be told from that. */
  torn: Leftover[]
  /** What a writer left that had lost its lock, or whose write had failed. */
  ignored: Leftover[]
  /** Damaged: the first record that is missing or changed. */
  bad?: { seq: number; segment: string; offset: number }
}

export interface ScanOptions {
  /** Begin here; what comes before is attested. */
  from: Position
  /** The highest record that is known, from elsewhere, to have been on disk. */
  attestedSeq?: number
  /** Every record that counts, in order, as long as all is whole. */
  take?: (line: Buffer, header: RecordHeader, segment: string, next: number) => void
}

/** Reads a log from a position to its end, and judges what it finds. Its memory does not grow with the log. */
export function scanLog(place: LogPlace, { from, attestedSeq = 0, take }: ScanOptions): Scanned {
  const { disk, directory, log, codec } = place
  const segments = inOrder(log, listIfThere(disk, directory))
  const start = segments.findIndex(({ name }) => name === from.segment)
  const judge = new LogJudge(from)
  const scanned: Scanned = { state: 'whole', end: from, records: 0, bytes: 0, torn: [], ignored: [] }
  let rest: Leftover[] = []
  let tail = from.tail
  let bad: Scanned['bad']
  segments.slice(Math.max(0, start)).forEach((segment, i) => {
    const file = disk.openToRead(join(directory, segment.name))
    const begin = i === 0 && start >= 0 ? from.offset : 0
    try {
      for (const { bytes, offset, ended } of linesFrom((into, at) => disk.read(file, into, at), begin)) {
        const next = offset + bytes.length + (ended ? 1 : 0)
        if (bad === undefined && scanned.end.seq >= segment.until - 1) {
          scanned.ignored.push({ segment: segment.name, offset, bytes: lengthFrom(disk, file, offset) })
          return
        }
        const header = ended ? checkRecord(bytes) : undefined
        const follows = header === undefined ? undefined : codec.follow(bytes, tail)
        if (
          judge.take(
            header === undefined || (bad === undefined && follows === undefined) ? undefined : header,
          )
        ) {
          tail = follows ?? tail
          scanned.end = { seq: judge.lastSeq, tail, segment: segment.name, offset: next }
          scanned.lastAt = header?.at
          scanned.records += 1
          scanned.bytes += next - offset
          if (header !== undefined) take?.(bytes, header, segment.name, next)
        } else if (bad === undefined) {
          bad = { seq: judge.lastSeq + 1, segment: segment.name, offset }
          rest = [{ segment: segment.name, offset, bytes: lengthFrom(disk, file, offset) }]
        } else if (rest.at(-1)?.segment !== segment.name) {
          rest.push({ segment: segment.name, offset, bytes: lengthFrom(disk, file, offset) })
        }
      }
    } finally {
      disk.close(file)
    }
  })
  scanned.state = judge.verdict(Math.max(attestedSeq, from.seq, namedSeq(segments)))
  if (scanned.state === 'torn') scanned.torn = rest
  if (scanned.state === 'damaged') {
    const { seq, segment, offset } = scanned.end
    scanned.bad = bad ?? { seq: seq + 1, segment, offset }
  }
  return scanned
}

const lengthFrom = (disk: Disk, file: number, offset: number): number => disk.size(file) - offset

/** A segment is begun only when everything before it is on disk. */
const namedSeq = (segments: readonly Segment[]): number =>
  Math.max(0, ...segments.map(({ firstSeq }) => firstSeq - 1))
