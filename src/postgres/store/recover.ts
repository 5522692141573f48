import {
  auditRecordOf,
  emptyState,
  type FoldedState,
  logDamaged,
  ownPrefix,
  takeAudit,
  takeRecord,
} from '../../session/index.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import {
  checkRecord,
  emptyLogEnd,
  type LogEnd,
  type LogEnds,
  type LogName,
  type LogRecord,
  type Snapshot,
} from '../../session/log/index.ts'
import { readData } from './blob-row.ts'
import type { Database } from '../database.ts'
import { type LogScan, scanLog, tailOf } from './log-lines.ts'
import { newestSnapshots } from './snapshots.ts'
import type { SessionRow } from './session-row.ts'

/** What the rows of a session say: its state, and how its logs look. */
export interface Recovered {
  state: FoldedState
  snapshot: Snapshot | undefined
  journal: LogScan
  audit: LogScan
}

/** The newest snapshot that fits the logs, and what came after it; nothing is changed. It costs what came after the snapshot. */
export async function recover(
  database: Database,
  { key, ends }: Pick<SessionRow, 'key' | 'ends'>,
): Promise<Recovered> {
  const snapshot = await fitting(database, key, ends)
  const state = snapshot?.state ?? emptyState()
  const journal = await scanLog(
    database,
    'journal',
    key,
    snapshot?.ends.journal ?? emptyLogEnd('journal'),
    ends.journal,
    async (record) => {
      if (record.type.startsWith(ownPrefix)) await takeOwn(database, key, state, record)
    },
  )
  const audit = await scanLog(
    database,
    'audit',
    key,
    snapshot?.ends.audit ?? emptyLogEnd('audit'),
    ends.audit,
    async (record) => takeAudit(state, auditRecordOf(await readData(database, key, record))),
  )
  return { state, snapshot, journal, audit }
}

/** A snapshot is a cache: one that does not fit what is there is passed over. */
async function fitting(database: Database, key: string, ends: LogEnds): Promise<Snapshot | undefined> {
  for await (const snapshot of newestSnapshots(database, key))
    if (await isAt(database, key, snapshot.ends, ends)) return snapshot
  return undefined
}

/** Do both logs have, at these ends, what the ends say, and do they come that far? */
export async function isAt(
  database: Database,
  key: string,
  ends: LogEnds,
  last: LogEnds = ends,
): Promise<boolean> {
  const logs = ['journal', 'audit'] as const
  if (logs.some((log) => ends[log].seq > last[log].seq)) return false
  const [row] = await database.query(
    `SELECT (SELECT line FROM stint.journal WHERE session = $1 AND seq = $2) AS journal,
      (SELECT line FROM stint.audit WHERE session = $1 AND seq = $3) AS audit`,
    key,
    ends.journal.seq,
    ends.audit.seq,
  )
  return logs.every((log) => endsWith(log, ends[log], row?.[log]))
}

function endsWith(log: LogName, { seq, tail }: LogEnd, line: unknown): boolean {
  if (seq === 0 || typeof line !== 'string') return seq === 0 && line === null
  return checkRecord(Buffer.from(line))?.seq === seq && tailOf(log, line) === tail
}

async function takeOwn(
  database: Database,
  key: string,
  state: FoldedState,
  record: LogRecord,
): Promise<void> {
  let read = (): unknown => record.data
  if (record.blob !== undefined) {
    try {
      const { data } = await readData(database, key, record)
      read = () => data
    } catch (error) {
      if (!(error instanceof StintError) || error.code !== 'BLOB_MISSING') throw error
      read = () => {
        throw error
      }
    }
  }
  takeRecord(state, record, read)
}

/** What to do about a session on a server, which `stint sessions repair` does not know. */
export const damageHint =
  'A fork at an earlier record has what is intact; the rest is in a backup of the database.'

/** The damage that a recovery has found, as an error; undefined if both logs are intact. */
export function recoveredDamage(
  id: string,
  { journal, audit }: Pick<Recovered, 'journal' | 'audit'>,
): StintError | undefined {
  if (journal.bad !== undefined)
    return recordDamaged(id, 'journal', journal.bad, `stint sessions fork ${id} --at ${journal.bad - 1}`)
  if (audit.bad !== undefined) return recordDamaged(id, 'audit', audit.bad, `stint audit verify ${id}`)
  return undefined
}

function recordDamaged(id: string, log: LogName, seq: number, command: string): StintError {
  const use =
    log === 'journal'
      ? `\`${command}\` gives a copy of what is whole; the rest is in a backup of the database.`
      : `\`${command}\` shows what is wrong; what is missing is in a backup of the database.`
  return logDamaged(id, log, `record ${seq} is missing or changed`, {
    detail: `seq=${seq} readable=${seq - 1}`,
    hint: use,
  })
}
