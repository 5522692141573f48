import type { Disk } from './disk.ts'

/**
 * A journal is a row of files. The first is `journal.log`, later ones are `journal-<firstSeq>-<epoch>.log`: no name is ever given to another
 * file, so a writer that has lost its lock, and does not know it yet, can spoil nothing. Where two overlap, the higher epoch is the truth, and what
 * the other has written from there on was never acknowledged by its rightful writer.
 */
export interface SegmentName {
  name: string
  firstSeq: number
  epoch: number
}

export const segmentName = (firstSeq: number, epoch: number): string =>
  firstSeq === 1 ? 'journal.log' : `journal-${firstSeq}-${epoch}.log`

export function parseSegmentName(name: string): SegmentName | undefined {
  if (name === 'journal.log') return { name, firstSeq: 1, epoch: 0 }
  const match = /^journal-([1-9]\d{0,14})-([1-9]\d{0,14})\.log$/.exec(name)
  return match === null ? undefined : { name, firstSeq: Number(match[1]), epoch: Number(match[2]) }
}

export interface Segment extends SegmentName {
  /** The first seq that a later segment has; what this one has from there on does not count. */
  until: number
}

/** The segments that count, in order. */
export function inOrder(names: readonly string[]): Segment[] {
  const all = names
    .flatMap((name) => parseSegmentName(name) ?? [])
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

/** Writes all of it; a disk may take it in pieces. */
export function writeFully(disk: Disk, file: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length;) {
    const written = disk.write(file, bytes, done, position + done)
    if (written === 0) throw Object.assign(new Error('the disk takes no more'), { code: 'ENOSPC' })
    done += written
  }
}
