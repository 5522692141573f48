import { untilOnDisk } from '../database.ts'
import type { Batch } from './batch.ts'

const logRows = (log: 'journal' | 'audit', head: string, lines: string, blobs: string): string =>
  `${log} AS (
    INSERT INTO stint.${log} (session, seq, line, blob)
    SELECT held.key, ${head}::bigint + new.nth, new.line, new.blob
    FROM held, unnest(${lines}::text[], ${blobs}::text[]) WITH ORDINALITY AS new (line, blob, nth)
  )`

/**
 * Everything that a batch brings, in one statement, which is one transaction: no connection has to remember anything. The first part is the fence: only whoever
 * holds the session, and knows where it ends, changes the row, and without that row nothing else is written.
 */
const appendSql = `WITH held AS (
    UPDATE stint.session SET head_seq = $5, head_sum = $6, audit_seq = $7, audit_head = $8, turns = turns + $9, bytes = bytes + $10,
      last_at = coalesce(to_timestamp($11::float8 / 1000), last_at), beat = clock_timestamp()
    WHERE key = $1 AND token = $2 AND head_seq = $3 AND audit_seq = $4 AND removed_at IS NULL
    RETURNING key
  ), ${logRows('journal', '$3', '$12', '$13')}, ${logRows('audit', '$4', '$14', '$15')},
  blob AS (
    INSERT INTO stint.blob (session, sha256, content)
    SELECT held.key, new.sha256, new.content FROM held, unnest($16::text[], $17::text[]) AS new (sha256, content)
    ON CONFLICT DO NOTHING
  ), spool AS (
    UPDATE stint.spool SET taken_at = clock_timestamp(), entry = '' FROM held WHERE session = held.key AND mark = ANY ($18::text[])
  )
  SELECT ${untilOnDisk} FROM held`

/** The statement and its values; it gives a row if it was carried out. */
export function appendStatement(key: string, token: string, batch: Batch): [string, ...unknown[]] {
  const { from, end, journal, audit, contents, marks, turns, bytes, lastAt } = batch
  return [
    appendSql,
    key,
    token,
    from.journal.seq,
    from.audit.seq,
    end.journal.seq,
    end.journal.tail,
    end.audit.seq,
    end.audit.tail,
    turns,
    bytes,
    lastAt ?? null,
    journal.lines,
    journal.blobs,
    audit.lines,
    audit.blobs,
    contents.map(({ sha256 }) => sha256),
    contents.map(({ content }) => content),
    marks,
  ]
}
