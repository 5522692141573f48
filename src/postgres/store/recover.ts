import type { StintError } from '../../base/errors/stint-error.ts'
import {
  auditRecordOf,
  emptyState,
  type FoldedState,
  logDamaged,
  ownPrefix,
  applyAuditRecord,
  applyJournalRecord,
} from '../../session/index.ts'
import {
  checkRecord,
  emptyLogEnd,
  type LogEnd,
  type LogEnds,
  type LogName,
  logNames,
  type LogRecord,
  type Snapshot,
} from '../../session/log/index.ts'
import type { Database } from '../database.ts'
import type { SessionRow } from './session-row.ts'
import { lineSum, type LogRowScan, SessionRows } from './session-rows.ts'
import { newestSnapshots } from './snapshots.ts'

/** The state of a session, and how its logs look. */
export interface RecoveredRows {
  state: FoldedState
  snapshot: Snapshot | undefined
  journal: LogRowScan
  audit: LogRowScan
}

/** Restores the newest snapshot that fits the logs and replays the records after it. Changes nothing. */
export async function recoverRows(
  database: Database,
  { key, ends }: Pick<SessionRow, 'key' | 'ends'>,
): Promise<RecoveredRows> {
  const rows = new SessionRows(database, key)
  const snapshot = await fittingSnapshot(rows, ends)
  const state = snapshot?.state ?? emptyState()
  const scan = (log: LogName, onRecord: (record: LogRecord) => Promise<void>): Promise<LogRowScan> =>
    rows.scan(log, snapshot?.ends[log] ?? emptyLogEnd(log), ends[log], onRecord)
  const journal = await scan('journal', (record) => applyRecord(rows, state, record))
  const audit = await scan('audit', async (record) =>
    applyAuditRecord(state, auditRecordOf(await rows.withData(record))),
  )
  return { state, snapshot, journal, audit }
}

/** The newest snapshot that fits the logs. A snapshot is a cache: one that does not fit is skipped. */
async function fittingSnapshot(rows: SessionRows, ends: LogEnds): Promise<Snapshot | undefined> {
  for await (const snapshot of newestSnapshots(rows))
    if (await hasEnds(rows, snapshot.ends, ends)) return snapshot
  return undefined
}

/** True if both logs have the records that `ends` names, and `last`, where they end, is not before. */
export async function hasEnds({ database, key }: SessionRows, ends: LogEnds, last = ends): Promise<boolean> {
  if (logNames.some((log) => ends[log].seq > last[log].seq)) return false
  const [row] = await database.query(
    `SELECT (SELECT line FROM stint.journal WHERE session = $1 AND seq = $2) AS journal,
      (SELECT line FROM stint.audit WHERE session = $1 AND seq = $3) AS audit`,
    key,
    ends.journal.seq,
    ends.audit.seq,
  )
  return logNames.every((log) => isEnd(log, ends[log], row?.[log]))
}

function isEnd(log: LogName, { seq, sum }: LogEnd, line: unknown): boolean {
  if (seq === 0 || typeof line !== 'string') return seq === 0 && line === null
  return checkRecord(Buffer.from(line))?.seq === seq && lineSum(log, line) === sum
}

/** Applies one of stint's own records. A missing blob breaks the slot that it sets, not the recovery. */
async function applyRecord(rows: SessionRows, state: FoldedState, record: LogRecord): Promise<void> {
  if (!record.type.startsWith(ownPrefix)) return
  const [read] = await Promise.allSettled([rows.withData(record)])
  applyJournalRecord(state, record, () => {
    if (read.status === 'rejected') throw read.reason
    return read.value.data
  })
}

/** Advice for a damaged session: `stint sessions repair` works on files only. */
export const damageHint =
  'A fork at an earlier record has what is intact; the rest is in a backup of the database.'

/** The damage that a recovery has found, as an error; undefined if both logs are intact. */
export function recoveredDamage(
  id: string,
  { journal, audit }: Pick<RecoveredRows, 'journal' | 'audit'>,
): StintError | undefined {
  const damaged = (log: LogName, seq: number, hint: string): StintError =>
    logDamaged(id, log, `record ${seq} is missing or changed`, {
      detail: `seq=${seq} readable=${seq - 1}`,
      hint,
    })
  if (journal.bad !== undefined) {
    const command = `stint sessions fork ${id} --at ${journal.bad - 1}`
    const hint = `\`${command}\` copies the intact part; the rest is in a backup of the database.`
    return damaged('journal', journal.bad, hint)
  }
  if (audit.bad === undefined) return undefined
  const command = `stint audit verify ${id}`
  const hint = `\`${command}\` shows what is wrong; what is missing is in a backup of the database.`
  return damaged('audit', audit.bad, hint)
}
