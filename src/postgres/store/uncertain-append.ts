import { StintError } from '../../base/errors/stint-error.ts'
import type { RecordOptions, StoredReceipt } from '../../session/index.ts'
import { type LogEnds, type LogName, logNames } from '../../session/log/index.ts'
import { type Database, untilOnDisk } from '../database.ts'
import type { AppendBatch, EncodedRecord } from './append-batch.ts'
import { lineSum } from './session-rows.ts'

/** A caller that waits for its record. */
export interface AppendWaiter extends Pick<EncodedRecord, 'log' | 'at'>, Pick<RecordOptions, 'applied'> {
  resolve: (receipt: StoredReceipt) => void
}

/** A batch that was sent, without its lines: they may be large, and the server may be away for long. */
export interface SentAppend extends Pick<AppendBatch, 'end' | 'checkpoint' | 'places'> {
  /** A log that it appends to. */
  log: LogName
  waiters: readonly AppendWaiter[]
}

export const sentAppend = (
  { end, checkpoint, places, journal }: AppendBatch,
  waiters: readonly AppendWaiter[],
): SentAppend => ({
  end,
  checkpoint,
  places,
  log: journal.lines.length > 0 ? 'journal' : 'audit',
  waiters: waiters.map(({ log, at, applied, resolve }) => ({ log, at, applied, resolve })),
})

/** Tells the callers of a committed batch. For those that were rejected before, only `applied` counts. */
export function acknowledge({ places, waiters }: SentAppend): void {
  waiters.forEach(({ log, at, applied, resolve }, i) => {
    const { seq = 0, sum = '' } = places[i] ?? {}
    const receipt = log === 'audit' ? { seq, at, hash: sum } : { seq, at }
    applied?.(receipt)
    resolve(receipt)
  })
}

/**
 * Finds the append that was committed: at most one of them was. Reading does not tell whether the synchronous
 * standby has it, and the standby may be the server that answers next. So each statement also locks the row
 * of the session, which is the smallest write: when the standby has that, it has everything before it.
 */
export async function findCommitted(
  database: Database,
  key: string,
  candidates: readonly SentAppend[],
): Promise<SentAppend | undefined> {
  for (const sent of candidates) {
    const { seq, sum } = sent.end[sent.log]
    const sql = `SELECT log.line, ${untilOnDisk} FROM stint.${sent.log} AS log JOIN stint.session AS session
      ON session.key = log.session WHERE session.key = $1 AND log.seq = $2 FOR UPDATE OF session`
    const [row] = await database.retry(() => database.write(sql, key, seq))
    if (row !== undefined && lineSum(sent.log, String(row.line)) === sum) return sent
  }
  return undefined
}

export const haveSameEnds = (a: LogEnds, b: LogEnds): boolean =>
  logNames.every((log) => a[log].seq === b[log].seq && a[log].sum === b[log].sum)

/** The error of an append without an answer: not retryable, as a second try might record it twice. */
export const fateUnknown = (id: string, error: unknown): unknown =>
  error instanceof StintError
    ? new StintError(error.code, `${error.message}; the records may be in session ${id}`, {
        ...error.options,
        retryable: false,
        hint: 'When the server answers again, see whether they are there: `stint sessions tail` shows the newest.',
      })
    : error

/** `JOURNAL_CORRUPT`: a replica has taken over that lacked the last records, or a backup was restored. */
export const acknowledgedLost = (id: string, acknowledged: LogEnds, found: LogEnds): StintError =>
  new StintError(
    'JOURNAL_CORRUPT',
    `session ${id} ends at record ${found.journal.seq}, and ${acknowledged.journal.seq} was acknowledged: ` +
      'the server has lost records',
    {
      hint:
        'Resume the session to go on from what is there; ' +
        'find out which server answers, and what it was restored from.',
    },
  )
