import { logUnreadable, type Manifest, sessionExists } from '../../session/index.ts'
import { emptyLogEnd, forkPoint, type LogEnd, type LogName, parseLogRecord } from '../../session/log/index.ts'
import type { Database, Query } from '../database.ts'
import { lineSum } from './log-rows.ts'
import { recoverRows } from './recover.ts'
import { createStatement, findSessionRow, manifestColumn, type SessionRow } from './session-row.ts'

/**
 * Copies the rows of a session up to a record into a new session that is not held; neither needs the other
 * afterwards. One transaction does it without a lock: the rows that it copies never change, even while a
 * writer appends.
 */
export async function forkRows(
  database: Database,
  from: string,
  at: number | undefined,
  manifestAt: (seq: number) => Manifest,
): Promise<void> {
  const source = await findSessionRow(database, from)
  const { journal, audit } = await recoverRows(database, source)
  const seq = forkPoint(at, journal.end.seq)
  const manifest = manifestAt(seq)
  const fork = (): Promise<void> =>
    database.transaction(
      async (query) => {
        const auditSeq =
          seq === source.ends.journal.seq
            ? audit.end.seq
            : Math.min(audit.end.seq, await auditSeqAt(query, source, seq))
        const ends = {
          journal: await endAt(query, source, 'journal', seq),
          audit: await endAt(query, source, 'audit', auditSeq),
        }
        const measured = await measure(query, source, seq, auditSeq)
        const [made] = await query(
          ...createStatement(manifest, undefined, { epoch: source.epoch, ends, ...measured }),
        )
        if (made === undefined) return await assertForked(query, manifest)
        await copyRows(query, source, String(made.key), seq, auditSeq)
      },
      { long: true },
    )
  await database.retry(fork)
}

/**
 * Accepts a session that an earlier try has made, whose answer was lost. `NAME_TAKEN` if it is another one.
 */
async function assertForked(query: Query, manifest: Manifest): Promise<void> {
  const made = await query(
    `SELECT FROM stint.session AS session JOIN stint.revision AS revision ON revision.session = session.key
    WHERE session.id = $1 AND session.removed_at IS NULL AND session.manifest = $2 AND revision.body = $3`,
    manifest.session_id,
    manifestColumn(manifest),
    JSON.stringify(manifest.revisions.at(-1)),
  )
  if (made.length === 0) throw sessionExists(manifest.session_id)
}

/** How far the audit log had come when a journal record was written: the last checkpoint up to there. */
async function auditSeqAt(query: Query, { key }: SessionRow, seq: number): Promise<number> {
  for (let before = seq + 1; ;) {
    const [row] = await query(
      `SELECT seq, line FROM stint.journal WHERE session = $1 AND seq < $2 AND line LIKE '%,"audit":{"count":%' ORDER BY seq DESC LIMIT 1`,
      key,
      before,
    )
    if (row === undefined) return 0
    // The data of a record may look like a checkpoint, too.
    const { audit } = parseLogRecord(Buffer.from(String(row.line)))
    if (audit !== undefined) return audit.count
    before = Number(row.seq)
  }
}

async function endAt(query: Query, source: SessionRow, log: LogName, seq: number): Promise<LogEnd> {
  if (seq === 0) return emptyLogEnd(log)
  const [row] = await query(`SELECT line FROM stint.${log} WHERE session = $1 AND seq = $2`, source.key, seq)
  if (row === undefined) throw logUnreadable(source.id, log, seq)
  return { seq, sum: lineSum(log, String(row.line)) }
}

const turnLine = String.raw`^\{"seq":\d+,"at":\d+,"group":\d+,"epoch":\d+,"type":"stint\.turn"`

const namedBlobs = `SELECT blob FROM stint.journal WHERE session = $1 AND seq <= $2 AND blob IS NOT NULL
  UNION SELECT blob FROM stint.audit WHERE session = $1 AND seq <= $3 AND blob IS NOT NULL`

/** The columns of the fork that are counted: its turns, its bytes and the time of its last record. */
async function measure(
  query: Query,
  { key, lastAt }: SessionRow,
  seq: number,
  auditSeq: number,
): Promise<{ turns: number; bytes: number; lastAt: number }> {
  const [row] = await query(
    `SELECT (SELECT count(*) FROM stint.journal WHERE session = $1 AND seq <= $2 AND line ~ $4) AS turns,
      (SELECT coalesce(sum(octet_length(line)), 0) FROM stint.journal WHERE session = $1 AND seq <= $2)
      + (SELECT coalesce(sum(octet_length(line)), 0) FROM stint.audit WHERE session = $1 AND seq <= $3)
      + (SELECT coalesce(sum(octet_length(content)), 0) FROM stint.blob WHERE session = $1 AND sha256 IN (${namedBlobs})) AS bytes,
      (SELECT line FROM stint.journal WHERE session = $1 AND seq = $2) AS last`,
    key,
    seq,
    auditSeq,
    turnLine,
  )
  const last = row?.last
  return {
    turns: Number(row?.turns),
    bytes: Number(row?.bytes),
    lastAt: typeof last === 'string' ? parseLogRecord(Buffer.from(last)).at : lastAt,
  }
}

/** Snapshots that cover no more than the fork has: a later one would attest records that the fork lacks. */
const fittingSnapshots = `SELECT seq, body, payloads FROM stint.snapshot WHERE session = $1 AND seq <= $2
  AND (body::json -> 'audit' ->> 'seq')::bigint <= $3`

async function copyRows(
  query: Query,
  source: SessionRow,
  to: string,
  seq: number,
  auditSeq: number,
): Promise<void> {
  for (const [log, last] of [
    ['journal', seq],
    ['audit', auditSeq],
  ] as const) {
    const [copied] = await query(
      `WITH copied AS (
        INSERT INTO stint.${log} (session, seq, line, blob)
        SELECT $2, seq, line, blob FROM stint.${log} WHERE session = $1 AND seq <= $3 RETURNING seq
      ) SELECT count(*) AS count FROM copied`,
      source.key,
      to,
      last,
    )
    if (Number(copied?.count) !== last) throw logUnreadable(source.id, log, last)
  }
  await query(
    `INSERT INTO stint.blob (session, sha256, content)
    SELECT $4, sha256, content FROM stint.blob WHERE session = $1 AND sha256 IN (${namedBlobs})`,
    source.key,
    seq,
    auditSeq,
    to,
  )
  // One statement, because a writer may replace the snapshots between two.
  await query(
    `WITH fitting AS (${fittingSnapshots}), snapshots AS (
      INSERT INTO stint.snapshot (session, seq, body, payloads) SELECT $4, seq, body, payloads FROM fitting
    )
    INSERT INTO stint.state (session, sha256, content)
    SELECT $4, sha256, content FROM stint.state WHERE session = $1 AND sha256 IN (SELECT unnest(payloads) FROM fitting)`,
    source.key,
    seq,
    auditSeq,
    to,
  )
}
