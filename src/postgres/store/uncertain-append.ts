import { StintError } from '../../base/errors/stint-error.ts'
import type { LogEnds, LogName } from '../../session/log/index.ts'
import type { Batch } from './batch.ts'
import type { Database } from '../database.ts'
import { tailOf } from './log-lines.ts'

/** A record that is there. */
export interface Written {
  seq: number
  at: number
  /** Its sum, or its hash. */
  tail: string
}

/** Somebody who waits for a record. */
export interface Listener {
  at: number
  /** Called when the record counts, before anything else can happen. */
  applied?: (written: Written) => void
  resolve: (written: Written) => void
}

/** As much of a batch that was sent as is needed to know it again: the texts may be many, and the server away for long. */
export interface Attempt extends Pick<Batch, 'end' | 'stamp' | 'places'> {
  log: LogName
  listeners: readonly Listener[]
}

export const attemptOf = (
  { end, stamp, places, journal }: Batch,
  listeners: readonly Listener[],
): Attempt => ({
  end,
  stamp,
  places,
  log: journal.lines.length > 0 ? 'journal' : 'audit',
  listeners: listeners.map(({ at, applied, resolve }) => ({ at, applied, resolve })),
})

/** Tells all who wait that their records are there. An attempt that was given up on has nobody left to hear it, but it counts. */
export function announce({ places, listeners }: Attempt): void {
  listeners.forEach(({ at, applied, resolve }, i) => {
    const { seq = 0, tail = '' } = places[i] ?? {}
    const written = { seq, at, tail }
    applied?.(written)
    resolve(written)
  })
}

/** For a session that somebody else has taken: which of these was carried out before that? */
export async function findLanded(
  database: Database,
  key: string,
  attempts: readonly Attempt[],
): Promise<Attempt | undefined> {
  for (const attempt of attempts) {
    const { log, end } = attempt
    const { seq, tail } = end[log]
    const sql = `SELECT line FROM stint.${log} WHERE session = $1 AND seq = $2`
    const [there] = await database.retry(() => database.query(sql, key, seq))
    if (there !== undefined && tailOf(log, String(there.line)) === tail) return attempt
  }
  return undefined
}

export const isSame = (a: LogEnds, b: LogEnds): boolean =>
  (['journal', 'audit'] as const).every((log) => a[log].seq === b[log].seq && a[log].tail === b[log].tail)

/** A replica took over that did not have everything yet, or a backup was put in place. */
export const lost = (id: string, ours: LogEnds, theirs: LogEnds): StintError =>
  new StintError(
    'JOURNAL_CORRUPT',
    `session ${id} ends at record ${theirs.journal.seq}, and ${ours.journal.seq} was acknowledged: the server has lost what it had`,
    {
      hint: 'Resume the session to go on from what is there; find out which server answers, and what it was restored from.',
    },
  )
