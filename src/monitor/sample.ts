import { parseObject } from '../primitives/line-file.ts'
import type { MeasuredEntry } from './entry.ts'
import { type Totals, totalsOf } from './totals.ts'

/** One line of the history: what was there at one moment, and what was done since the line before. */
export interface Sample extends Omit<Totals, 'entries'> {
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
}

export type Sampler = 'sweep' | 'watch'

/** What a sweep has done just before its sample. */
export interface Swept {
  swept: number
  freed: number
}

export function makeSample(
  entries: readonly MeasuredEntry[],
  { at, by, before, swept, freed }: { at: number; by: Sampler; before: Sample | undefined } & Swept,
): Sample {
  const { entries: _, ...totals } = totalsOf(entries)
  const isNew = ({ kind, created_at }: MeasuredEntry): boolean =>
    kind === 'scratch' && before !== undefined && created_at > before.at
  const created = entries.filter(isNew).length
  return { schema_version: 1, at, by, ...totals, created, swept, freed }
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
] as const

/** A line of the history, or undefined: torn, damaged, of another version. */
export function parseSample(line: string): Sample | undefined {
  const value = parseObject(line)
  if (value?.schema_version !== 1 || (value.by !== 'sweep' && value.by !== 'watch')) return undefined
  const isCount = (field: string): boolean => Number.isSafeInteger(value[field]) && Number(value[field]) >= 0
  return counts.every(isCount) ? (value as unknown as Sample) : undefined
}
