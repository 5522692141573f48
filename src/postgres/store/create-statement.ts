import type { LogEnds } from '../../session/log/index.ts'
import { factsOf, type Manifest } from '../../session/index.ts'
import { untilOnDisk } from '../database.ts'
import type { Claim } from './session-hold.ts'
import { factColumns } from './revise-statement.ts'
import { manifestText, postgresId } from './session-row.ts'

/** A session comes into being whole, with its manifest, or not at all: nothing if the id is taken. */
const createSql = `WITH made AS (
    INSERT INTO stint.session (id, store, manifest, rev, tool, title, workspace, epoch, token, holder, since, beat,
      head_seq, head_sum, audit_seq, audit_head, turns, bytes, last_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, CASE WHEN $9::text IS NULL THEN NULL ELSE clock_timestamp() END,
      CASE WHEN $9::text IS NULL THEN NULL ELSE clock_timestamp() END, $11, $12, $13, $14, $15, $16, to_timestamp($17::float8 / 1000))
    ON CONFLICT (id) WHERE removed_at IS NULL DO NOTHING
    RETURNING key
  ), revised AS (
    INSERT INTO stint.revision (session, rev, body)
    SELECT made.key, new.rev, new.body FROM made, unnest($18::integer[], $19::text[]) AS new (rev, body)
  )
  SELECT key, ${untilOnDisk} FROM made`

/** What a new session has from the beginning. */
export interface Dowry {
  epoch: number
  ends: LogEnds
  turns: number
  bytes: number
  lastAt: number
}

/** The statement and its values; it gives the key of the session that it made. Without a claim nobody holds it. */
export function createStatement(
  manifest: Manifest,
  claim: Claim | undefined,
  { epoch, ends, turns, bytes, lastAt }: Dowry,
): [string, ...unknown[]] {
  const { revisions } = manifest
  return [
    createSql,
    manifest.session_id,
    postgresId,
    manifestText(manifest),
    revisions.at(-1)?.rev ?? 0,
    ...factColumns(factsOf(manifest)),
    epoch,
    claim?.token ?? null,
    claim?.holder ?? null,
    ends.journal.seq,
    ends.journal.tail,
    ends.audit.seq,
    ends.audit.tail,
    turns,
    bytes,
    lastAt,
    revisions.map(({ rev }) => rev),
    revisions.map((revision) => JSON.stringify(revision)),
  ]
}
