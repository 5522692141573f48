import { StintError } from '../../base/errors/stint-error.ts'
import { emptyLogEnd, type LogEnd, type LogName, type LogRecord } from '../../session/log/index.ts'
import type { Health, LogHealth } from '../../session/index.ts'
import { readBlob } from './blob-row.ts'
import type { Database } from '../database.ts'
import { scanLog } from './log-lines.ts'
import { findRow, readManifest, type SessionRow } from './session-row.ts'
import { readSnapshotEnds } from './snapshots.ts'

/** What something outside of a log says about it: which record was the last, and what that was. */
type Attested = Map<number, string>

/**
 * Reads every line of both logs and every blob that a line names. What the logs do not show by themselves, a cut at the end or an audit log that was
 * written anew, is shown by what attests them: the row of the session, each close, each snapshot, and the journal, which says how far the audit log had come.
 *
 * What attests is asked for first, and cannot say more than what is read after it, also while somebody writes.
 */
export async function verify(
  database: Database,
  id: string,
  onBytes: (done: number) => void = () => {},
): Promise<Health> {
  const attested = await attestedBy(database, await findRow(database, id))
  const row = await findRow(database, id)
  const bad: string[] = []
  let done = 0
  const look = async (record: LogRecord, bytes: number): Promise<void> => {
    onBytes((done += bytes))
    if (record.blob !== undefined && !(await isThere(database, row.key, record)))
      bad.push(String(record.blob.sha256))
  }
  const journal = await check(database, 'journal', row, attested.journal, async (record, bytes) => {
    if (record.audit !== undefined) attested.audit.set(record.audit.count, record.audit.head)
    await look(record, bytes)
  })
  const audit = await check(database, 'audit', row, attested.audit, look)
  const whole = journal.state === 'whole' && audit.state === 'whole'
  return { journal, audit, blobs: bad, ok: whole && bad.length === 0 }
}

async function attestedBy(database: Database, row: SessionRow): Promise<Record<LogName, Attested>> {
  const attested = { journal: new Map<number, string>(), audit: new Map<number, string>() }
  const { revisions } = await readManifest(database, row)
  for (const { seq, crc, audit } of revisions) {
    if (seq !== undefined && crc !== undefined) attested.journal.set(seq, crc)
    if (audit !== undefined) attested.audit.set(audit.count, audit.head)
  }
  for (const ends of await readSnapshotEnds(database, row.key))
    for (const log of ['journal', 'audit'] as const) attested[log].set(ends[log].seq, ends[log].tail)
  return attested
}

async function check(
  database: Database,
  log: LogName,
  { key, ends }: SessionRow,
  attested: Attested,
  take: (record: LogRecord, bytes: number) => Promise<void>,
): Promise<LogHealth> {
  const findings: string[] = []
  const compare = ({ seq, tail }: LogEnd): void => {
    const there = attested.get(seq)
    if (there !== undefined && there !== tail) findings.push(`record ${seq} is not the one that was attested`)
  }
  const scan = await scanLog(database, log, key, emptyLogEnd(log), ends[log], async (record, end, bytes) => {
    compare(end)
    await take(record, bytes)
  })
  const { end, records, bytes } = scan
  let furthest = 0
  for (const seq of attested.keys()) furthest = Math.max(furthest, seq)
  if (scan.bad !== undefined) findings.unshift(`record ${scan.bad} is missing or changed`)
  else if (furthest > end.seq) findings.unshift(`it ends at record ${end.seq}, and ${furthest} is attested`)
  if (await hasMore(database, log, key)) findings.push('there are records beyond its end')
  const state = findings.length === 0 ? 'whole' : 'damaged'
  return { state, records, bytes, lastSeq: end.seq, head: end.tail, findings }
}

/** Asked in one statement: a record and the end that counts it come into being together. */
async function hasMore(database: Database, log: LogName, key: string): Promise<boolean> {
  const end = log === 'journal' ? 'head_seq' : 'audit_seq'
  const rows = await database.query(
    `SELECT FROM stint.session AS session WHERE session.key = $1 AND EXISTS
      (SELECT FROM stint.${log} AS log WHERE log.session = $1 AND log.seq > session.${end})`,
    key,
  )
  return rows.length > 0
}

async function isThere(database: Database, key: string, { blob }: LogRecord): Promise<boolean> {
  try {
    if (blob !== undefined) await readBlob(database, key, blob)
    return true
  } catch (error) {
    if (error instanceof StintError && error.code === 'BLOB_MISSING') return false
    throw error
  }
}
