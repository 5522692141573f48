import { hostname } from 'node:os'
import { type Liveness, liveness, ownIdentity } from '../../base/process/liveness.ts'
import { ulid } from '../../base/text/id.ts'
import {
  holderStanding,
  type LockStanding,
  sessionFenced,
  type SessionHold,
  sessionLocked,
  silenceMs,
} from '../../session/index.ts'
import { type Database, untilOnDisk } from '../database.ts'
import {
  findSessionRow,
  type HoldColumns,
  parseSessionRow,
  type RemoteHolder,
  rowColumns,
  type SessionRow,
} from './session-row.ts'

/** Whether the session of this row can be taken, by the server's clock. */
export function rowStanding(
  { token, holder, now }: Pick<SessionRow, 'token' | 'holder' | 'now'>,
  livenessOf: (holder: RemoteHolder) => Liveness = ({ process }) => liveness(process),
): LockStanding {
  if (token === undefined) return 'released'
  // A holder whose record is unreadable cannot be looked for.
  if (holder === undefined) return 'dead'
  return holderStanding(holder, livenessOf(holder), now)
}

export function newHold({ kind, purpose }: SessionHold): HoldColumns {
  // A PostgreSQL string cannot contain NUL.
  const holder = { process: ownIdentity(), host: hostname(), kind, purpose: purpose?.replaceAll('\0', '') }
  return { token: ulid(), holder: JSON.stringify(holder) }
}

/** A session that this process has just taken. */
export interface AcquiredSessionRow {
  token: string
  row: SessionRow
  /** The row as it was before. */
  before: SessionRow
}

/**
 * Takes a session, or does it again if the first answer was lost: then the token is ours already. It checks
 * the silence of the holder again, which may have sent a heartbeat since the session was read.
 */
const acquireSql = (more: string): string => `UPDATE stint.session
  SET epoch = $5::bigint + 1, token = $3, holder = $4, since = clock_timestamp(), beat = clock_timestamp()${more}
  WHERE key = $1 AND (token = $3 OR removed_at IS NULL AND token IS NOT DISTINCT FROM $2 AND epoch = $5 AND
    ($6::float8 IS NULL OR beat < clock_timestamp() - $6::float8 * interval '1 millisecond'))
  RETURNING ${rowColumns}, ${untilOnDisk}`

/** Takes a session, and with `isRemoved` removes it. `SESSION_LOCKED` while it is held, without `force`. */
export async function acquireSessionRow(
  database: Database,
  id: string,
  hold: SessionHold,
  isRemoved = false,
): Promise<AcquiredSessionRow> {
  const { force = false } = hold
  const { token, holder } = newHold(hold)
  const sql = acquireSql(isRemoved ? ', removed_at = clock_timestamp()' : '')
  for (;;) {
    const before = await findSessionRow(database, id)
    const standing = rowStanding(before)
    if (standing === 'held' && !force) throw sessionLocked(id, before.holder, before.now)
    const minSilenceMs = standing === 'silent' && !force ? silenceMs : null
    const values = [before.key, before.token ?? null, token, holder, before.epoch, minSilenceMs]
    const [row] = await database.retry(() => database.write(sql, ...values))
    if (row !== undefined) return { token, row: parseSessionRow(row), before }
  }
}

/** Puts the previous hold back, after the session could not be opened. */
export async function undoAcquireSessionRow(
  database: Database,
  { token, before }: AcquiredSessionRow,
): Promise<void> {
  await database.write(
    `UPDATE stint.session SET (token, holder, since, beat) = ($3, $4, to_timestamp($5::float8 / 1000), to_timestamp($6::float8 / 1000))
    WHERE key = $1 AND token = $2`,
    before.key,
    token,
    before.token ?? null,
    before.holder === undefined ? null : JSON.stringify(before.holder),
    before.holder?.since ?? null,
    before.holder?.beat ?? null,
  )
}

/** Ends a hold. `FENCED` if another process has taken the session. */
export async function releaseSessionRow(
  database: Database,
  { id, key }: SessionRow,
  token: string,
): Promise<void> {
  const free = '(token, holder, since, beat) = (NULL, NULL, NULL, NULL)'
  await database.retry(async () => {
    for (;;) {
      const [row] = await database.write(
        `UPDATE stint.session SET ${free} WHERE key = $1 AND token = $2 RETURNING key`,
        key,
        token,
      )
      if (row !== undefined) return
      // A statement that was sent twice has ended the hold the first time. If the server that carried it out
      // has failed since, its standby may still have the hold.
      const [now] = await database.write('SELECT token FROM stint.session WHERE key = $1 FOR UPDATE', key)
      if (now?.token === null) return
      if (now?.token !== token) throw sessionFenced(id)
    }
  })
}
