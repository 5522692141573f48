import type { Clock } from '../../base/process/clock.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import {
  brokenSlots,
  damageFound,
  emptyState,
  type Manifest,
  nothingToReport,
  type Recovery,
  type SessionHold,
  visitedRecords,
  type WriteGuard,
} from '../../session/index.ts'
import type { Database } from '../database.ts'
import { PostgresSession } from './held-session.ts'
import { giveBack, type Taken } from './session-hold.ts'
import { damageHint, recoveredDamage, isAt, recover } from './recover.ts'
import { readManifest, type SessionRow } from './session-row.ts'
import { verify } from './verify.ts'

export interface OpenContext {
  database: Database
  clock: Clock
  hold: SessionHold
  guard: WriteGuard
}

/** Opens a session that was just created. */
export const openNew = (
  context: OpenContext,
  row: SessionRow,
  token: string,
  manifest: Manifest,
): PostgresSession =>
  new PostgresSession({
    ...context,
    row,
    token,
    manifest,
    recovered: { state: emptyState(), report: nothingToReport(), bytes: 0, snapshotDue: false },
  })

/** Recovers a session that was just taken, and opens it. Damage is reported, and the session is left as it was found. */
export async function openTaken(context: OpenContext, taken: Taken): Promise<PostgresSession> {
  const { database } = context
  try {
    return await database.retry(() => openRow(context, taken))
  } catch (error) {
    const isDamage = error instanceof StintError && /_CORRUPT$|^BLOB_MISSING$/.test(error.code)
    await giveBack(database, taken, isDamage ? error.message : undefined).catch(() => {
      // What went wrong first is what the caller must hear. It counts as held until this process ends.
    })
    throw error
  }
}

async function openRow(
  { database, clock, hold, guard }: OpenContext,
  taken: Taken,
): Promise<PostgresSession> {
  const { row, token, before } = taken
  const { key, ends } = row
  const manifest = await readManifest(database, row)
  const common = { database, clock, guard, row, token, manifest }
  if (row.damage !== undefined) await assertRepaired(database, row, token)
  // A visitor needs no state, unless it must take a snapshot: the row says where the logs end.
  const needsNothing = hold.kind === 'visitor' && !(await isSnapshotDue(database, row))
  if (needsNothing && (await isAt(database, key, ends)))
    return new PostgresSession({ ...common, recovered: undefined })
  const recovered = await recover(database, row)
  const damage = recoveredDamage(row.id, recovered)
  if (damage !== undefined) throw damage
  const { state, snapshot, journal } = recovered
  const recovery: Recovery = {
    state,
    report: {
      snapshot: snapshot?.seq,
      replayed: journal.records,
      cut: [],
      ignored: [],
      brokenSlots: brokenSlots(state),
      tookOverFrom: before.holder,
    },
    bytes: journal.bytes,
    snapshotDue: ends.journal.seq - (snapshot?.seq ?? 0) >= visitedRecords,
  }
  return new PostgresSession({ ...common, recovered: recovery })
}

async function isSnapshotDue(database: Database, { key, ends }: SessionRow): Promise<boolean> {
  // In a young session none can be due, and nobody need ask.
  if (ends.journal.seq < visitedRecords) return false
  const [newest] = await database.query('SELECT max(seq) AS seq FROM stint.snapshot WHERE session = $1', key)
  return ends.journal.seq - Number(newest?.seq ?? 0) >= visitedRecords
}

/** Damage that was found may lie where a recovery does not look, before the last snapshot: until somebody has put it right nothing is written. */
async function assertRepaired(database: Database, { id, key }: SessionRow, token: string): Promise<void> {
  const damage = damageFound(id, await verify(database, id), damageHint)
  if (damage !== undefined) throw damage
  await database.query('UPDATE stint.session SET damage = NULL WHERE key = $1 AND token = $2', key, token)
}
