import type { LogName } from './log-end.ts'

/**
 * A log is a row of files. The first is `<log>.log`, later ones are `<log>-<firstSeq>-<epoch>.log`: no name is ever given to another
 * file, so a writer that has lost its lock, and does not know it yet, can spoil nothing. Where two overlap, the higher epoch is the truth, and what
 * the other has written from there on was never acknowledged by its rightful writer.
 */
export interface SegmentName {
  name: string
  firstSeq: number
  epoch: number
}

export const firstSegment = (log: LogName): string => `${log}.log`

export const laterSegment = (log: LogName, firstSeq: number, epoch: number): string =>
  `${log}-${firstSeq}-${epoch}.log`

export function parseSegmentName(log: LogName, name: string): SegmentName | undefined {
  if (name === firstSegment(log)) return { name, firstSeq: 1, epoch: 0 }
  const match = /^([a-z]+)-([1-9]\d{0,14})-([1-9]\d{0,14})\.log$/.exec(name)
  if (match?.[1] !== log) return undefined
  return { name, firstSeq: Number(match[2]), epoch: Number(match[3]) }
}

export interface Segment extends SegmentName {
  /** The first seq that a later segment has; what this one has from there on does not count. */
  until: number
}

/** The segments that count, in order. */
export function effectiveSegments(log: LogName, names: readonly string[]): Segment[] {
  const all = names
    .flatMap((name) => parseSegmentName(log, name) ?? [])
    .sort((a, b) => a.firstSeq - b.firstSeq || a.epoch - b.epoch)
  const counting = all.filter((each, i) => !all.some((other, j) => overrules(other, each, j > i)))
  return counting.map((each, i) => ({
    ...each,
    until: counting[i + 1]?.firstSeq ?? Number.POSITIVE_INFINITY,
  }))
}

/** A later epoch that begins at or before it takes its place. */
const overrules = (other: SegmentName, one: SegmentName, later: boolean): boolean =>
  other.epoch > one.epoch && (other.firstSeq < one.firstSeq || (other.firstSeq === one.firstSeq && later))
