import { join } from 'node:path'
import { type Disk, listIfThere } from '../primitives/disk.ts'
import { type Line, linesFrom } from './lines.ts'
import type { Position } from './position.ts'
import type { Codec } from './codec.ts'
import { type CheckedHeader, checkRecord } from './record.ts'
import { sumText } from './seal.ts'
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
  take?: (line: Line, header: CheckedHeader) => void
}

/** Reads a log from a position to its end, and judges what it finds. Its memory does not grow with the log. */
export function scanLog(place: LogPlace, { from, attestedSeq = 0, take }: ScanOptions): Scanned {
  const { disk, directory, log, codec } = place
  const segments = inOrder(log, listIfThere(disk, directory))
  const start = segments.findIndex(({ name }) => name === from.segment)
  const judge = new LogJudge(from)
  const scanned: Scanned = { state: 'whole', end: { ...from }, records: 0, bytes: 0, torn: [], ignored: [] }
  const { end } = scanned
  let rest: Leftover[] = []
  let bad: Scanned['bad']
  let lastCrc: number | undefined
  segments.slice(Math.max(0, start)).forEach(({ name, until }, i) => {
    const file = disk.openToRead(join(directory, name))
    const begin = i === 0 && start >= 0 ? from.offset : 0
    const restFrom = (offset: number): Leftover => ({
      segment: name,
      offset,
      bytes: disk.size(file) - offset,
    })
    try {
      for (const line of linesFrom((into, at) => disk.read(file, into, at), begin)) {
        const { offset } = line
        if (bad === undefined && judge.lastSeq >= until - 1) {
          scanned.ignored.push(restFrom(offset))
          return
        }
        const header = line.ended ? checkRecord(line.chunk, line.start, line.end) : undefined
        const intact = header !== undefined && (codec.follows?.(line.bytes, end.tail) ?? true)
        if (judge.take(intact || bad !== undefined ? header : undefined) && header !== undefined) {
          end.seq = header.seq
          end.segment = name
          end.offset = line.next
          // Where lines need not follow each other, only the last one's is asked for.
          if (codec.follows === undefined) lastCrc = header.crc
          else end.tail = codec.tailOf(line.bytes)
          scanned.lastAt = header.at
          scanned.records += 1
          scanned.bytes += line.next - offset
          take?.(line, header)
        } else if (bad === undefined) {
          bad = { seq: judge.lastSeq + 1, segment: name, offset }
          rest = [restFrom(offset)]
        } else if (rest.at(-1)?.segment !== name) {
          rest.push(restFrom(offset))
        }
      }
    } finally {
      disk.close(file)
    }
  })
  if (lastCrc !== undefined) end.tail = sumText(lastCrc)
  scanned.state = judge.verdict(Math.max(attestedSeq, from.seq, namedSeq(segments)))
  if (scanned.state === 'torn') scanned.torn = rest
  if (scanned.state === 'damaged')
    scanned.bad = bad ?? { seq: end.seq + 1, segment: end.segment, offset: end.offset }
  return scanned
}

/** A segment is begun only when everything before it is on disk. */
const namedSeq = (segments: readonly Segment[]): number =>
  Math.max(0, ...segments.map(({ firstSeq }) => firstSeq - 1))
