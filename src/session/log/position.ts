import { isCount } from '../../base/text/fields.ts'
import { emptyLogEnd } from './codec.ts'
import { type LogEnd, type LogName, parseLogEnd } from './log-end.ts'
import { firstSegment } from './segment.ts'

/** The end of a log in its files: the next record goes here. */
export interface Position extends LogEnd {
  segment: string
  /** In bytes from the start of the segment. */
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
export const logStart = (log: LogName): Position => ({
  ...emptyLogEnd(log),
  segment: firstSegment(log),
  offset: 0,
})

/** A position read from a file somebody may have damaged, or undefined. */
export function parsePosition(value: unknown): Position | undefined {
  const end = parseLogEnd(value)
  if (end === undefined) return undefined
  const { segment, offset } = value as Record<string, unknown>
  if (!isCount(offset)) return undefined
  // No slashes and no dots but the last: it is joined to a directory.
  if (typeof segment !== 'string' || !/^[a-z0-9-]+\.log$/.test(segment)) return undefined
  return { ...end, segment, offset }
}
