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
  /** Bytes that this sweep freed. */
  freed: number
  /** Orphans and bytes before this sweep: those counted now, plus those it removed. */
  orphans_found: number
  bytes_found: number
}

export type Sampler = 'sweep' | 'watch'

/** The result of a sweep just before its sample. */
export interface Swept {
  /** Scratches removed. */
  swept: number
  /** Bytes freed. */
  freed: number
  /** The part of it that was in the root, where samples are taken: entries of any kind, and bytes. */
  taken: { orphans: number; bytes: number }
}

export const nothingSwept: Swept = { swept: 0, freed: 0, taken: { orphans: 0, bytes: 0 } }

export function makeSample(
  entries: readonly MeasuredEntry[],
  { at, by, before, swept, freed, taken }: { at: number; by: Sampler; before: Sample | undefined } & Swept,
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
    swept,
    freed,
    orphans_found: totals.orphans + taken.orphans,
    bytes_found: totals.bytes + taken.bytes,
  }
}

const counts =
  'at scratches live orphans files directories bytes created swept freed orphans_found bytes_found'.split(' ')

/** Parses a line of the history; undefined if it is torn, damaged, or of another version. */
export function parseSample(line: string): Sample | undefined {
  const read = parseObject(line)
  // Lines of older versions have only the counts after the sweep.
  const value: typeof read = read && { orphans_found: read.orphans, bytes_found: read.bytes, ...read }
  if (value?.schema_version !== 1 || (value.by !== 'sweep' && value.by !== 'watch')) return undefined
  return counts.every((field) => isCount(value[field])) ? (value as unknown as Sample) : undefined
}
