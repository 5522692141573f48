import { StintError } from '../../base/errors/stint-error.ts'
import { isCount, isRecord } from '../../base/text/fields.ts'

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

export const isSameEnd = (one: LogEnd, other: LogEnd): boolean =>
  one.seq === other.seq && one.sum === other.sum

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
