import { logUnreadable, type Manifest, sessionExists } from '../../session/index.ts'
import { emptyLogEnd, forkPoint, type LogEnd, type LogName, parseLogRecord } from '../../session/log/index.ts'
import { createStatement } from './create-statement.ts'
import type { Database, Query } from '../database.ts'
import { tailOf } from './log-lines.ts'
import { recover } from './recover.ts'
import { findRow, manifestText, type SessionRow } from './session-row.ts'

/**
 * A new session, held by nobody, with everything that another has up to a record: its own rows, so that neither needs the other. In one transaction, and without
 * a lock: what is copied does not change, also while the other is written to.
 */
export async function forkRows(
  database: Database,
  from: string,
  at: number | undefined,
  manifestAt: (seq: number) => Manifest,
): Promise<void> {
  const source = await findRow(database, from)
  // As far as it is whole.
  const { journal, audit } = await recover(database, source)
  const seq = forkPoint(at, journal.end.seq)
  const manifest = manifestAt(seq)
  const fork = (): Promise<void> =>
    database.transaction(
      async (query) => {
        const audited =
          seq === source.ends.journal.seq
            ? audit.end.seq
            : Math.min(audit.end.seq, await auditedAt(query, source, seq))
        const ends = {
          journal: await endAt(query, source, 'journal', seq),
          audit: await endAt(query, source, 'audit', audited),
        }
        const dowry = {
          epoch: source.epoch,
          ends,
          ...(await measure(query, source.key, seq, audited, source.lastAt)),
        }
        const [made] = await query(...createStatement(manifest, undefined, dowry))
        if (made === undefined) return await assertOurs(query, manifest)
        await copy(query, source, String(made.key), seq, audited)
      },
      { long: true },
    )
  await database.retry(fork)
}

/** An earlier try may have made it, and only its answer was lost. */
async function assertOurs(query: Query, manifest: Manifest): Promise<void> {
  const ours = await query(
    `SELECT FROM stint.session AS session JOIN stint.revision AS revision ON revision.session = session.key
    WHERE session.id = $1 AND session.removed_at IS NULL AND session.manifest = $2 AND revision.body = $3`,
    manifest.session_id,
    manifestText(manifest),
    JSON.stringify(manifest.revisions.at(-1)),
  )
  if (ours.length === 0) throw sessionExists(manifest.session_id)
}

/** How far the audit log had come when a record was written: the last time the journal says so. */
async function auditedAt(query: Query, { key }: SessionRow, seq: number): Promise<number> {
  for (let before = seq + 1; ;) {
    const [row] = await query(
      `SELECT seq, line FROM stint.journal WHERE session = $1 AND seq < $2 AND line LIKE '%,"audit":{"count":%' ORDER BY seq DESC LIMIT 1`,
      key,
      before,
    )
    if (row === undefined) return 0
    // Its data may look like that, too.
    const { audit } = parseLogRecord(Buffer.from(String(row.line)))
    if (audit !== undefined) return audit.count
    before = Number(row.seq)
  }
}

async function endAt(query: Query, source: SessionRow, log: LogName, seq: number): Promise<LogEnd> {
  if (seq === 0) return emptyLogEnd(log)
  const [row] = await query(`SELECT line FROM stint.${log} WHERE session = $1 AND seq = $2`, source.key, seq)
  if (row === undefined) throw logUnreadable(source.id, log, seq)
  return { seq, tail: tailOf(log, String(row.line)) }
}

const turnLine = String.raw`^\{"seq":\d+,"at":\d+,"group":\d+,"epoch":\d+,"type":"stint\.turn"`

async function measure(
  query: Query,
  key: string,
  seq: number,
  audited: number,
  lastAt: number,
): Promise<{ turns: number; bytes: number; lastAt: number }> {
  const [row] = await query(
    `SELECT (SELECT count(*) FROM stint.journal WHERE session = $1 AND seq <= $2 AND line ~ $4) AS turns,
      (SELECT coalesce(sum(octet_length(line)), 0) FROM stint.journal WHERE session = $1 AND seq <= $2)
      + (SELECT coalesce(sum(octet_length(line)), 0) FROM stint.audit WHERE session = $1 AND seq <= $3)
      + (SELECT coalesce(sum(octet_length(content)), 0) FROM stint.blob WHERE session = $1 AND sha256 IN (${namedBlobs})) AS bytes,
      (SELECT line FROM stint.journal WHERE session = $1 AND seq = $2) AS last`,
    key,
    seq,
    audited,
    turnLine,
  )
  const last = row?.last
  return {
    turns: Number(row?.turns),
    bytes: Number(row?.bytes),
    lastAt: typeof last === 'string' ? parseLogRecord(Buffer.from(last)).at : lastAt,
  }
}

const namedBlobs = `SELECT blob FROM stint.journal WHERE session = $1 AND seq <= $2 AND blob IS NOT NULL
  UNION SELECT blob FROM stint.audit WHERE session = $1 AND seq <= $3 AND blob IS NOT NULL`

/** A snapshot that tells of more than the copy has would attest what is not there. */
const fittingSnapshots = `SELECT seq, body, payloads FROM stint.snapshot WHERE session = $1 AND seq <= $2
  AND (body::json -> 'audit' ->> 'seq')::bigint <= $3`

async function copy(
  query: Query,
  source: SessionRow,
  to: string,
  seq: number,
  audited: number,
): Promise<void> {
  for (const [log, last] of [
    ['journal', seq],
    ['audit', audited],
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
    audited,
    to,
  )
  // In one statement: between two, others could be taken for these.
  await query(
    `WITH fitting AS (${fittingSnapshots}), snapshots AS (
      INSERT INTO stint.snapshot (session, seq, body, payloads) SELECT $4, seq, body, payloads FROM fitting
    )
    INSERT INTO stint.state (session, sha256, content)
    SELECT $4, sha256, content FROM stint.state WHERE session = $1 AND sha256 IN (SELECT unnest(payloads) FROM fitting)`,
    source.key,
    seq,
    audited,
    to,
  )
}
