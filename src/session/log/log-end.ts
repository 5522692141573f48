import { StintError } from '../../base/errors/stint-error.ts'
import { isCount, isRecord } from '../../base/text/fields.ts'
import { emptyLogEnd } from './codec.ts'
import { firstSegment } from './log-files.ts'

/** The two logs of a session. */
export type LogName = 'journal' | 'audit'

export const logNames: readonly LogName[] = ['journal', 'audit']

/** A place just after a record of a log. */
export interface LogEnd {
  /** The number of that record; 0 before the first. */
  seq: number
  /** The sum of its line: the checksum in the journal, the hash in the audit log. */
  sum: string
}

/** Where both logs of a session end. */
export type LogEnds<End extends LogEnd = LogEnd> = Record<LogName, End>

/** Both ends in the form in which a revision of the manifest attests them. */
export const attestEnds = ({ journal, audit }: LogEnds) => ({
  seq: journal.seq,
  crc: journal.sum,
  audit: { count: audit.seq, head: audit.sum },
})

/** Both ends as JSON stores them: there, the sum is called `tail`. */
export function storedEnds({ journal, audit }: LogEnds): Record<LogName, object> {
  const stored = ({ sum: tail, ...end }: LogEnd): object => ({ ...end, tail })
  return { journal: stored(journal), audit: stored(audit) }
}

/** An end read from stored JSON, which may be damaged; undefined if it is invalid. */
export function parseLogEnd(value: unknown): LogEnd | undefined {
  if (!isRecord(value)) return undefined
  const { seq, tail: sum } = value
  return isCount(seq) && typeof sum === 'string' ? { seq, sum } : undefined
}

/** The last record of a fork: `at`, or the `last` intact one. `ARG_ERROR` if there is no such record. */
export function forkPoint(at: number | undefined, last: number): number {
  const seq = at ?? last
  if (Number.isSafeInteger(seq) && seq >= 0 && seq <= last) return seq
  throw new StintError('ARG_ERROR', `there is no record ${seq} to fork at: the last one is ${last}`)
}

/** The end of a log in its files: the next record goes here. */
export interface Position extends LogEnd {
  segment: string
  /** In bytes from the start of the segment. */
  offset: number
}

/** Where both logs of a session end in their files. */
export type LogPositions = LogEnds<Position>

/** Where a writer goes on in a log. */
export interface AppendPoint {
  from: Position
  /** True: append to the segment that ends at `from`. False: begin a new segment. */
  continues: boolean
  /** The session was just created: its logs have no segments but those that were published with it. */
  isNew?: boolean
}

/** The position before the first record. */
export const logStart = (log: LogName): Position => ({
  ...emptyLogEnd(log),
  segment: firstSegment(log),
  offset: 0,
})

/** A position read from stored JSON, which may be damaged; undefined if it is invalid. */
export function parsePosition(value: unknown): Position | undefined {
  const end = parseLogEnd(value)
  if (end === undefined) return undefined
  const { segment, offset } = value as Record<string, unknown>
  // The segment becomes part of a path: no slash, and no dot but the last.
  if (!isCount(offset) || typeof segment !== 'string' || !/^[a-z0-9-]+\.log$/.test(segment)) return undefined
  return { ...end, segment, offset }
}
