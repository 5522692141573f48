import { join } from 'node:path'
import { type Disk, listIfExists } from '../../base/fs/disk.ts'
import { emptyLogEnd, type LogEnd, type LogName } from '../log/codec.ts'

/**
 * The files of a log. A log is a row of segments: the first is `<log>.log`, later ones are
 * `<log>-<firstSeq>-<epoch>.log`. No two holds use the same later name, so a writer that has lost its lock
 * without noticing cannot spoil the segments of the next writer. Where two segments overlap, the one with the
 * higher epoch is effective: the records of the other from there on were never acknowledged by a writer that
 * held the lock.
 */
export interface LogFiles {
  disk: Disk
  directory: string
  log: LogName
}

export interface SegmentName {
  name: string
  /** The number of its first record. */
  firstSeq: number
  /** The epoch of the writer's hold; 0 for the first segment. */
  epoch: number
}

/** An effective segment: no other segment supersedes it as a whole. */
export interface Segment extends SegmentName {
  /** The first record of the next segment, which supersedes the records of this one from there on. */
  until: number
}

/** The end of a log in its files: the next record goes here. */
export interface Position extends LogEnd {
  segment: string
  /** In bytes from the start of the segment. */
  offset: number
}

/** Where both logs of a session end in their files. */
export type LogPositions = Record<LogName, Position>

/** The position before the first record. */
export const logStart = (log: LogName): Position => ({
  ...emptyLogEnd(log),
  segment: firstSegment(log),
  offset: 0,
})

export const firstSegment = (log: LogName): string => `${log}.log`

export const laterSegment = (log: LogName, firstSeq: number, epoch: number): string =>
  `${log}-${firstSeq}-${epoch}.log`

export function parseSegmentName(log: LogName, name: string): SegmentName | undefined {
  if (name === firstSegment(log)) return { name, firstSeq: 1, epoch: 0 }
  const match = /^([a-z]+)-([1-9]\d{0,14})-([1-9]\d{0,14})\.log$/.exec(name)
  if (match?.[1] !== log) return undefined
  return { name, firstSeq: Number(match[2]), epoch: Number(match[3]) }
}

/** The effective segments among these files, in order. */
export function effectiveSegments(log: LogName, names: readonly string[]): Segment[] {
  const all = names
    .flatMap((name) => parseSegmentName(log, name) ?? [])
    .sort((a, b) => a.firstSeq - b.firstSeq || a.epoch - b.epoch)
  const effective = all.filter((segment) => !all.some((other) => supersedes(other, segment)))
  return effective.map((segment, i) => ({
    ...segment,
    until: effective[i + 1]?.firstSeq ?? Number.POSITIVE_INFINITY,
  }))
}

/** A segment replaces every segment of a lower epoch that begins at the same record or later. */
const supersedes = (other: SegmentName, segment: SegmentName): boolean =>
  other.epoch > segment.epoch && other.firstSeq <= segment.firstSeq

/** The effective segments of a log, in order; none if the log does not exist. */
export const listSegments = ({ disk, directory, log }: LogFiles): Segment[] =>
  effectiveSegments(log, listIfExists(disk, directory))

/** The last record that segment names attest: a segment begins when all records before it are on disk. */
export const namedSeq = (files: LogFiles): number =>
  listSegments(files).reduce((most, { firstSeq }) => Math.max(most, firstSeq - 1), 0)

/** A segment that is open for reading. */
export interface OpenSegment extends Disposable {
  /** Reads up to `length` bytes; fewer only if the file ends before. */
  read(position: number, length: number): Buffer
  /** The size now, in bytes: another process may be writing. */
  size(): number
}

export function openSegment({ disk, directory }: LogFiles, name: string): OpenSegment {
  const file = disk.openToRead(join(directory, name))
  return {
    read(position, length) {
      const bytes = Buffer.allocUnsafe(length)
      let done = 0
      for (let got = -1; done < length && got !== 0; done += got)
        got = disk.read(file, bytes.subarray(done), position + done)
      return bytes.subarray(0, done)
    },
    size: () => disk.size(file),
    [Symbol.dispose]: () => disk.close(file),
  }
}
