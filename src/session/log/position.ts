import { isCount } from '../../base/text/fields.ts'
import { type Codec, journalCodec } from './codec.ts'
import { firstSegment, type LogName } from './segment.ts'

/** Just after a record: where the next one is found. */
export interface Position {
  /** The record before; 0 if there is none. */
  seq: number
  /** What that record has left for the next: its sum, or its hash. */
  tail: string
  segment: string
  offset: number
}

/** Where a writer goes on in a log. */
export interface AppendPoint {
  from: Position
  /** True: append to the segment that ends at `from`. False: begin a new segment. */
  continues: boolean
  /** Open the log at once, even if no record follows: records that an earlier writer adds from now on must not count. */
  eager: boolean
}

/** Before the first record. */
export const logStart = (log: LogName, codec: Codec = journalCodec): Position => ({
  seq: 0,
  tail: codec.genesis,
  segment: firstSegment(log),
  offset: 0,
})

/** A position read from a file somebody may have damaged, or undefined. */
export function parsePosition(value: unknown): Position | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { seq, tail, segment, offset } = value as Record<string, unknown>
  if (!isCount(seq) || !isCount(offset) || typeof tail !== 'string') return undefined
  // No slashes and no dots but the last: it is joined to a directory.
  if (typeof segment !== 'string' || !/^[a-z0-9-]+\.log$/.test(segment)) return undefined
  return { seq, tail, segment, offset }
}
