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
import type { Database } from '../database.ts'
import { findSessionRow, type HoldColumns, type RemoteHolder, type SessionRow } from './session-row.ts'

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

const acquireSql = (more: string): string => `UPDATE stint.session
  SET epoch = epoch + 1, token = $3, holder = $4, since = clock_timestamp(), beat = clock_timestamp()${more}
  WHERE key = $1 AND token IS NOT DISTINCT FROM $2 AND epoch = $5 AND removed_at IS NULL AND ($6::float8 IS NULL OR
    beat < clock_timestamp() - $6::float8 * interval '1 millisecond')
  RETURNING epoch`

/**
 * Takes a session. `SESSION_LOCKED` while a living process holds it, unless `force` is set. With `remove`,
 * the same statement removes it.
 */
export async function acquireSessionRow(
  database: Database,
  id: string,
  hold: SessionHold,
  { force = false, remove = false } = {},
): Promise<AcquiredSessionRow> {
  const { token, holder } = newHold(hold)
  let before = await findSessionRow(database, id)
  for (;;) {
    const standing = rowStanding(before)
    if (standing === 'held' && !force) throw sessionLocked(id, before.holder, before.now)
    // The statement checks the silence again: the holder may send a heartbeat in between.
    const minSilenceMs = standing === 'silent' && !force ? silenceMs : null
    const sql = acquireSql(remove ? ', removed_at = clock_timestamp()' : '')
    const values = [before.key, before.token ?? null, token, holder, before.epoch, minSilenceMs]
    const won = await database.retry(async () => {
      const [row] = await database.query(sql, ...values)
      // No row also means that the statement was sent twice and has won the first time.
      return row !== undefined || (await hasToken(database, before.key, token))
    })
    if (won) {
      const row = remove ? { ...before, epoch: before.epoch + 1, token } : await ownRow(database, id, token)
      return { token, row, before }
    }
    before = await findSessionRow(database, id)
  }
}

async function hasToken(database: Database, key: string, token: string): Promise<boolean> {
  const rows = await database.query('SELECT FROM stint.session WHERE key = $1 AND token = $2', key, token)
  return rows.length > 0
}

/** Reads the row again: until it was taken, the previous holder could change it. */
async function ownRow(database: Database, id: string, token: string): Promise<SessionRow> {
  const row = await database.retry(() => findSessionRow(database, id))
  if (row.token !== token) throw sessionFenced(id)
  return row
}

/** Puts the previous hold back, after the session could not be opened. `damage` is noted in the row. */
export async function undoAcquireSessionRow(
  database: Database,
  { token, before }: AcquiredSessionRow,
  damage?: string,
): Promise<void> {
  await database.query(
    `UPDATE stint.session SET (token, holder, since, beat) = ($3, $4, to_timestamp($5::float8 / 1000), to_timestamp($6::float8 / 1000)),
      damage = coalesce(damage, $7)
    WHERE key = $1 AND token = $2`,
    before.key,
    token,
    before.token ?? null,
    before.holder === undefined ? null : JSON.stringify(before.holder),
    before.holder?.since ?? null,
    before.holder?.beat ?? null,
    damage ?? null,
  )
}

/** Ends a hold. `FENCED` if another process has taken the session. */
export async function releaseSessionRow(
  database: Database,
  { id, key }: SessionRow,
  token: string,
): Promise<void> {
  await database.retry(async () => {
    const [row] = await database.query(
      `UPDATE stint.session SET (token, holder, since, beat) = (NULL, NULL, NULL, NULL) WHERE key = $1 AND token = $2 RETURNING key`,
      key,
      token,
    )
    if (row !== undefined) return
    // A statement that was sent twice has ended the hold the first time.
    const [now] = await database.query('SELECT token FROM stint.session WHERE key = $1', key)
    if (now === undefined || now.token !== null) throw sessionFenced(id)
  })
}
