import { hostname } from 'node:os'
import { ulid } from '../../base/text/id.ts'
import { type Liveness, liveness, ownIdentity } from '../../base/process/liveness.ts'
import {
  holderStanding,
  type LockStanding,
  sessionFenced,
  type SessionHold,
  sessionLocked,
  silenceMs,
} from '../../session/index.ts'
import type { Database } from '../database.ts'
import { findRow, type RemoteHolder, type SessionRow } from './session-row.ts'

/** Over plain data: may a session with this row be taken? By the server's clock. */
export function rowStanding(
  { token, holder, now }: Pick<SessionRow, 'token' | 'holder' | 'now'>,
  alive: (holder: RemoteHolder) => Liveness = ({ process }) => liveness(process),
): LockStanding {
  if (token === undefined) return 'released'
  // Who cannot be named cannot be asked either.
  if (holder === undefined) return 'dead'
  return holderStanding(holder, alive(holder), now)
}

/** Tells this hold from any other, before and after. */
export interface Claim {
  token: string
  holder: string
}

export function newClaim({ kind, purpose }: SessionHold): Claim {
  // The server rejects what a text of its own cannot have.
  const said = purpose?.replaceAll('\0', '')
  const holder = { process: ownIdentity(), host: hostname(), kind, purpose: said }
  return { token: ulid(), holder: JSON.stringify(holder) }
}

/** A session that was just taken, and how it was found. */
export interface Taken {
  token: string
  row: SessionRow
  before: SessionRow
  standing: LockStanding
}

const takeSql = (more: string): string => `UPDATE stint.session
  SET epoch = epoch + 1, token = $3, holder = $4, since = clock_timestamp(), beat = clock_timestamp()${more}
  WHERE key = $1 AND token IS NOT DISTINCT FROM $2 AND epoch = $5 AND removed_at IS NULL AND ($6::float8 IS NULL OR
    beat < clock_timestamp() - $6::float8 * interval '1 millisecond')
  RETURNING epoch`

/** Takes it, or throws `SESSION_LOCKED` with the living holder. `remove` takes it out of sight with the same stroke. */
export async function take(
  database: Database,
  id: string,
  hold: SessionHold,
  { force = false, remove = false } = {},
): Promise<Taken> {
  const claim = newClaim(hold)
  let before = await findRow(database, id)
  for (;;) {
    const standing = rowStanding(before)
    if (standing === 'held' && !force) throw sessionLocked(id, before.holder, before.now)
    // Who was silent may say something in this very moment.
    const silence = standing === 'silent' && !force ? silenceMs : null
    const sql = takeSql(remove ? ', removed_at = clock_timestamp()' : '')
    const seen = [before.key, before.token ?? null, claim.token, claim.holder, before.epoch, silence]
    const won = await database.retry(async () => {
      const [row] = await database.query(sql, ...seen)
      return row !== undefined || (await hasToken(database, before.key, claim.token))
    })
    if (won) {
      const row = { ...before, epoch: before.epoch + 1, token: claim.token }
      return {
        token: claim.token,
        row: remove ? row : await currentRow(database, id, claim.token),
        before,
        standing,
      }
    }
    before = await findRow(database, id)
  }
}

/** The answer was lost, not what was asked for. */
async function hasToken(database: Database, key: string, token: string): Promise<boolean> {
  const rows = await database.query('SELECT FROM stint.session WHERE key = $1 AND token = $2', key, token)
  return rows.length > 0
}

/** From now on nobody else changes it. */
async function currentRow(database: Database, id: string, token: string): Promise<SessionRow> {
  const row = await database.retry(() => findRow(database, id))
  if (row.token !== token) throw sessionFenced(id)
  return row
}

/** As if it had not been taken: what could not be opened stays as it was found. */
export async function giveBack(database: Database, { token, before }: Taken, damage?: string): Promise<void> {
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

/** Gives it back; nobody can be writing any more. */
export async function release(database: Database, { id, key }: SessionRow, token: string): Promise<void> {
  await database.retry(async () => {
    const [row] = await database.query(
      `UPDATE stint.session SET (token, holder, since, beat) = (NULL, NULL, NULL, NULL) WHERE key = $1 AND token = $2 RETURNING key`,
      key,
      token,
    )
    if (row !== undefined) return
    const [now] = await database.query('SELECT token FROM stint.session WHERE key = $1', key)
    if (now === undefined || now.token !== null) throw sessionFenced(id)
  })
}
