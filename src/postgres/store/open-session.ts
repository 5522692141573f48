import { StintError } from '../../base/errors/stint-error.ts'
import type { Clock } from '../../base/process/clock.ts'
import {
  assertIntact,
  brokenSlots,
  type SessionHold,
  visitedRecords,
  type WriteGuard,
} from '../../session/index.ts'
import type { Database } from '../database.ts'
import { PostgresSession } from './held-session.ts'
import { damageHint, hasEnds, recoveredDamage, recoverRows } from './recover.ts'
import { type AcquiredSessionRow, undoAcquireSessionRow } from './session-hold.ts'
import { readRowManifest, type SessionRow } from './session-row.ts'
import { SessionRows } from './session-rows.ts'
import { verifyRows } from './verify.ts'

export interface PostgresOpenContext {
  database: Database
  clock: Clock
  hold: SessionHold
  guard: WriteGuard
}

/** Recovers and opens a session that was just acquired. If that fails, puts the previous hold back. */
export async function openTakenRow(
  context: PostgresOpenContext,
  acquired: AcquiredSessionRow,
): Promise<PostgresSession> {
  const { database } = context
  try {
    return await database.retry(() => openRow(context, acquired))
  } catch (error) {
    const isDamage = error instanceof StintError && /_CORRUPT$|^BLOB_MISSING$/.test(error.code)
    await undoAcquireSessionRow(database, acquired, isDamage ? error.message : undefined).catch(() => {
      // The caller must hear the first error. The session counts as held until this process ends.
    })
    throw error
  }
}

async function openRow(
  { database, clock, hold, guard }: PostgresOpenContext,
  { row, token, before }: AcquiredSessionRow,
): Promise<PostgresSession> {
  const { key, ends } = row
  const common = { database, clock, guard, row, token, manifest: await readRowManifest(database, row) }
  if (row.damage !== undefined) await assertRepaired(database, row, token)
  // A visitor that need not take a snapshot needs no state: the row says where the logs end.
  const skipsRecovery = hold.kind === 'visitor' && !(await isSnapshotDue(database, row))
  if (skipsRecovery && (await hasEnds(new SessionRows(database, key), ends)))
    return new PostgresSession({ ...common, recovered: undefined })
  const recovered = await recoverRows(database, row)
  const damage = recoveredDamage(row.id, recovered)
  if (damage !== undefined) throw damage
  const { state, snapshot, journal } = recovered
  const report = {
    snapshot: snapshot?.seq,
    replayed: journal.records,
    cut: [],
    ignored: [],
    brokenSlots: brokenSlots(state),
    tookOverFrom: before.holder,
  }
  const snapshotDue = ends.journal.seq - (snapshot?.seq ?? 0) >= visitedRecords
  return new PostgresSession({ ...common, recovered: { state, report, bytes: journal.bytes, snapshotDue } })
}

async function isSnapshotDue(database: Database, { key, ends }: SessionRow): Promise<boolean> {
  // A shorter session needs no query.
  if (ends.journal.seq < visitedRecords) return false
  const [newest] = await database.query('SELECT max(seq) AS seq FROM stint.snapshot WHERE session = $1', key)
  return ends.journal.seq - Number(newest?.seq ?? 0) >= visitedRecords
}

/**
 * Refuses a session in which damage was found earlier, until it is gone. The damage may be before the last
 * snapshot, where a recovery does not look, so this reads all of it.
 */
async function assertRepaired(database: Database, { id, key }: SessionRow, token: string): Promise<void> {
  assertIntact(id, await verifyRows(database, id), damageHint)
  await database.write('UPDATE stint.session SET damage = NULL WHERE key = $1 AND token = $2', key, token)
}
