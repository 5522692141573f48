import type { DiskSpace } from '../../base/fs/disk-space.ts'
import { isCount, parseObject } from '../../base/text/fields.ts'
import { type EntryTotals, type MeasuredEntry, sumEntries } from './entry.ts'

/** One line of the history: the counts at one moment, and what a sweep removed just before. */
export interface Sample extends Omit<EntryTotals, 'entries'> {
  schema_version: 1
  /** Milliseconds since the epoch. */
  at: number
  by: Sampler
  /** Scratches created since the previous sample that still exist. */
  created: number
  /** Scratches that this sweep removed. */
  swept: number
  /** What this sweep freed: the length of the files, and what the disk got back; in bytes. */
  freed: number
  disk_freed: number
  /** Orphans and bytes before this sweep: those counted now, plus those it removed. */
  orphans_found: number
  bytes_found: number
  disk_bytes_found: number
  /** The disk space of sessions, and of removed ones; missing if they were not measured. */
  sessions_disk_bytes?: number
  trash_disk_bytes?: number
}

/** The disk space that the sessions of the home take, in bytes. */
export type SessionSpace = Pick<Sample, 'sessions_disk_bytes' | 'trash_disk_bytes'>

export type Sampler = 'sweep' | 'watch'

/** The result of a sweep just before its sample. */
export interface Swept {
  /** Scratches removed. */
  swept: number
  /** The length of the removed files, in bytes. */
  freed: number
  /** What the disk got back, in bytes. */
  disk_freed: number
  /** The part of it that was in the root, where samples are taken: entries of any kind, and their space. */
  taken: { orphans: number } & DiskSpace
}

export const nothingSwept: Swept = {
  swept: 0,
  freed: 0,
  disk_freed: 0,
  taken: { orphans: 0, bytes: 0, disk_bytes: 0 },
}

interface SampleFacts {
  at: number
  by: Sampler
  before: Sample | undefined
  sessions?: SessionSpace
}

export function makeSample(
  entries: readonly MeasuredEntry[],
  { at, by, before, taken, sessions, ...swept }: SampleFacts & Swept,
): Sample {
  const { entries: _, ...totals } = sumEntries(entries)
  const isNew = ({ kind, created_at }: MeasuredEntry): boolean =>
    kind === 'scratch' && before !== undefined && created_at > before.at
  const created = entries.filter(isNew).length
  return {
    schema_version: 1,
    at,
    by,
    ...totals,
    created,
    ...swept,
    orphans_found: totals.orphans + taken.orphans,
    bytes_found: totals.bytes + taken.bytes,
    disk_bytes_found: totals.disk_bytes + taken.disk_bytes,
    ...sessions,
  }
}

const counts = (
  'at scratches live orphans files directories bytes created swept freed orphans_found bytes_found ' +
  'disk_bytes disk_freed disk_bytes_found'
).split(' ')

const sessionCounts = ['sessions_disk_bytes', 'trash_disk_bytes']

/** Parses a line of the history; undefined if it is torn, damaged, or of another version. */
export function parseSample(line: string): Sample | undefined {
  const read = parseObject(line)
  // Lines of older versions have only the counts after the sweep, or no blocks.
  const counted: typeof read = read && { orphans_found: read.orphans, bytes_found: read.bytes, ...read }
  const value: typeof read = counted && {
    disk_bytes: counted.bytes,
    disk_freed: counted.freed,
    disk_bytes_found: counted.bytes_found,
    ...counted,
  }
  if (value?.schema_version !== 1 || (value.by !== 'sweep' && value.by !== 'watch')) return undefined
  const isKnown = counts.every((field) => isCount(value[field]))
  const isMeasured = sessionCounts.every((field) => value[field] === undefined || isCount(value[field]))
  return isKnown && isMeasured ? (value as unknown as Sample) : undefined
}
