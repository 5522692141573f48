import { errorCode } from '../../base/errors/stint-error.ts'
import type { Health, LogHealth } from '../../session/index.ts'
import {
  type BlobName,
  emptyLogEnd,
  type LogEnd,
  type LogName,
  logNames,
  type LogRecord,
} from '../../session/log/index.ts'
import type { Database } from '../database.ts'
import { allRevisions, findSessionRow, readRowManifest, type SessionRow } from './session-row.ts'
import { SessionRows } from './session-rows.ts'
import { readSnapshotEnds } from './snapshots.ts'

/** The records of a log that are attested outside of it: the sum of each, by `seq`. */
type Attested = Map<number, string>

/**
 * Reads every line of both logs, and every blob that a line names. A log does not show by itself that its end
 * was cut off, or that an audit log was rewritten. So it is compared with what attests it: the row of the
 * session, each close, each snapshot, and the checkpoints of the audit log in the journal.
 *
 * Those are read before the row of the session: while another process writes, they never attest more than the
 * logs have.
 */
export async function verifyRows(
  database: Database,
  id: string,
  onBytes: (done: number) => void = () => {},
): Promise<Health> {
  const attested = await readAttested(database, await findSessionRow(database, id))
  const row = await findSessionRow(database, id)
  const rows = new SessionRows(database, row.key)
  const missing: string[] = []
  let done = 0
  const checkBlob = async ({ blob }: LogRecord, bytes: number): Promise<void> => {
    onBytes((done += bytes))
    if (blob !== undefined && !(await hasBlob(rows, blob))) missing.push(String(blob.sha256))
  }
  const journal = await checkLog(rows, 'journal', row, attested.journal, async (record, bytes) => {
    if (record.audit !== undefined) attested.audit.set(record.audit.count, record.audit.head)
    await checkBlob(record, bytes)
  })
  const audit = await checkLog(rows, 'audit', row, attested.audit, checkBlob)
  const whole = journal.state === 'whole' && audit.state === 'whole'
  return { journal, audit, blobs: missing, ok: whole && missing.length === 0 }
}

async function readAttested(database: Database, row: SessionRow): Promise<Record<LogName, Attested>> {
  const attested = { journal: new Map<number, string>(), audit: new Map<number, string>() }
  const { revisions } = await readRowManifest(database, row, allRevisions)
  for (const { seq, crc, audit } of revisions) {
    if (seq !== undefined && crc !== undefined) attested.journal.set(seq, crc)
    if (audit !== undefined) attested.audit.set(audit.count, audit.head)
  }
  for (const ends of await readSnapshotEnds(new SessionRows(database, row.key)))
    for (const log of logNames) attested[log].set(ends[log].seq, ends[log].sum)
  return attested
}

async function checkLog(
  rows: SessionRows,
  log: LogName,
  { ends }: SessionRow,
  attested: Attested,
  onRecord: (record: LogRecord, bytes: number) => Promise<void>,
): Promise<LogHealth> {
  const findings: string[] = []
  const compare = ({ seq, sum }: LogEnd): void => {
    if ((attested.get(seq) ?? sum) !== sum) findings.push(`record ${seq} is not the one that was attested`)
  }
  const scan = await rows.scan(log, emptyLogEnd(log), ends[log], async (record, end, bytes) => {
    compare(end)
    await onRecord(record, bytes)
  })
  const { end, records, bytes } = scan
  let furthest = 0
  for (const seq of attested.keys()) furthest = Math.max(furthest, seq)
  if (scan.bad !== undefined) findings.unshift(`record ${scan.bad} is missing or changed`)
  else if (furthest > end.seq) findings.unshift(`it ends at record ${end.seq}, and ${furthest} is attested`)
  if (await hasRowsBeyondEnd(rows, log)) findings.push('there are records beyond its end')
  const state = findings.length === 0 ? 'whole' : 'damaged'
  return { state, records, bytes, lastSeq: end.seq, head: end.sum, findings }
}

/** Compares in one statement: a writer's record and the end that counts it appear together. */
async function hasRowsBeyondEnd({ database, key }: SessionRows, log: LogName): Promise<boolean> {
  const end = log === 'journal' ? 'head_seq' : 'audit_seq'
  const rows = await database.query(
    `SELECT FROM stint.session AS session WHERE session.key = $1 AND EXISTS
      (SELECT FROM stint.${log} AS log WHERE log.session = $1 AND log.seq > session.${end})`,
    key,
  )
  return rows.length > 0
}

async function hasBlob(rows: SessionRows, name: BlobName): Promise<boolean> {
  try {
    await rows.blob(name)
    return true
  } catch (error) {
    if (errorCode(error) === 'BLOB_MISSING') return false
    throw error
  }
}
