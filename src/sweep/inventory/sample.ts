import { isCount, parseObject } from '../../base/text/fields.ts'
import type { MeasuredEntry } from './entry.ts'
import { type EntryTotals, totalsOf } from './totals.ts'

/** One line of the history: what was there at one moment, and what was done since the line before. */
export interface Sample extends Omit<EntryTotals, 'entries'> {
  schema_version: 1
  /** Milliseconds since the epoch. */
  at: number
  by: Sampler
  /** Scratches made since the sample before that are still there. */
  created: number
  /** Scratches that this sweep has removed. */
  swept: number
  /** Bytes that this sweep has freed. */
  freed: number
  /** What this sweep has found: all that is here now, and what it has removed. */
  orphans_found: number
  bytes_found: number
}

export type Sampler = 'sweep' | 'watch'

/** What a sweep has done just before its sample. */
export interface Swept {
  swept: number
  freed: number
  /** What of it was in the root, where samples are taken: entries of any kind, and bytes. */
  taken: { orphans: number; bytes: number }
}

export const nothingSwept: Swept = { swept: 0, freed: 0, taken: { orphans: 0, bytes: 0 } }

export function makeSample(
  entries: readonly MeasuredEntry[],
  { at, by, before, swept, freed, taken }: { at: number; by: Sampler; before: Sample | undefined } & Swept,
): Sample {
  const { entries: _, ...totals } = totalsOf(entries)
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

const counts = [
  'at',
  'scratches',
  'live',
  'orphans',
  'files',
  'directories',
  'bytes',
  'created',
  'swept',
  'freed',
  'orphans_found',
  'bytes_found',
] as const

/** A line of the history, or undefined: torn, damaged, of another version. */
export function parseSample(line: string): Sample | undefined {
  const read = parseObject(line)
  // Older lines know only what was left.
  const value: typeof read = read && { orphans_found: read.orphans, bytes_found: read.bytes, ...read }
  if (value?.schema_version !== 1 || (value.by !== 'sweep' && value.by !== 'watch')) return undefined
  return counts.every((field) => isCount(value[field])) ? (value as unknown as Sample) : undefined
}
