import { logUnreadable, type Manifest, sessionExists, turnType } from '../../session/index.ts'
import { emptyLogEnd, forkPoint, type LogName } from '../../session/log/index.ts'
import type { Database, Query } from '../database.ts'
import { recoverRows } from './recover.ts'
import { createStatement, findSessionRow, manifestColumn, type SessionRow } from './session-row.ts'
import { type LogRowScan, SessionRows } from './session-rows.ts'

/**
 * Copies the rows of a session up to a record into a new session that is not held; neither needs the other
 * afterwards. This takes no lock: the rows that it checks and copies never change, even while a writer
 * appends. `JOURNAL_CORRUPT` or `AUDIT_CORRUPT` if one of them is damaged.
 */
export async function forkRows(
  database: Database,
  from: string,
  at: number | undefined,
  manifestAt: (seq: number) => Manifest,
): Promise<void> {
  const source = await findSessionRow(database, from)
  const { end } = (await recoverRows(database, source)).journal
  const seq = forkPoint(at, end.seq)
  const journal = await checkRows(database, source, 'journal', seq)
  // Audit lines after the last checkpoint belong to the fork if it has the whole journal.
  const auditSeq = seq === source.ends.journal.seq ? source.ends.audit.seq : journal.auditSeq
  const audit = await checkRows(database, source, 'audit', auditSeq)
  const blobs = new Map([...journal.blobs, ...audit.blobs])
  const initial = {
    epoch: source.epoch,
    ends: { journal: journal.end, audit: audit.end },
    turns: journal.turns,
    bytes: [...blobs.values()].reduce((sum, bytes) => sum + bytes, journal.bytes + audit.bytes),
    lastAt: journal.lastAt ?? source.lastAt,
  }
  const manifest = manifestAt(seq)
  const fork = (): Promise<void> =>
    database.transaction(
      async (query) => {
        const [made] = await query(...createStatement(manifest, undefined, initial))
        if (made === undefined) await assertForked(query, manifest)
        else await copyRows(query, source, String(made.key), seq, auditSeq)
      },
      { long: true },
    )
  await database.retry(fork)
}

/** The rows of one log that a fork copies. */
interface CheckedRows extends LogRowScan {
  turns: number
  /** The sizes of the blobs that they name. */
  blobs: Map<string, number>
  lastAt?: number
  /** How far the audit log had come, by the last checkpoint. */
  auditSeq: number
}

/** Reads the rows of a log up to `seq`. Throws if one of them is missing or changed. */
async function checkRows(
  database: Database,
  { id, key }: SessionRow,
  log: LogName,
  seq: number,
): Promise<CheckedRows> {
  const found: Omit<CheckedRows, keyof LogRowScan> = { turns: 0, blobs: new Map(), auditSeq: 0 }
  const scan = await new SessionRows(database, key).scan(log, emptyLogEnd(log), { seq }, (record) => {
    const { type, at, blob, audit } = record
    found.lastAt = at
    if (type === turnType) found.turns += 1
    if (blob !== undefined) found.blobs.set(blob.sha256, blob.bytes)
    if (audit !== undefined) found.auditSeq = audit.count
  })
  if (scan.bad !== undefined) throw logUnreadable(id, log, seq)
  return { ...found, ...scan }
}

/**
 * Accepts a session that an earlier try has made, whose answer was lost. `NAME_TAKEN` if it is another one.
 * Locks its row, because only a transaction that writes waits for the synchronous standby.
 */
async function assertForked(query: Query, manifest: Manifest): Promise<void> {
  const made = await query(
    `SELECT FROM stint.session AS session JOIN stint.revision AS revision ON revision.session = session.key
    WHERE session.id = $1 AND session.removed_at IS NULL AND session.manifest = $2 AND revision.body = $3
    FOR UPDATE OF session`,
    manifest.session_id,
    manifestColumn(manifest),
    JSON.stringify(manifest.revisions.at(-1)),
  )
  if (made.length === 0) throw sessionExists(manifest.session_id)
}

const namedBlobs = `SELECT blob FROM stint.journal WHERE session = $1 AND seq <= $2 AND blob IS NOT NULL
  UNION SELECT blob FROM stint.audit WHERE session = $1 AND seq <= $3 AND blob IS NOT NULL`

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
