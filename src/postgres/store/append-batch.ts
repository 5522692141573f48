import { type LogEntry, turnType } from '../../session/index.ts'
import {
  codecs,
  encodeCheckpoint,
  encodeEntry,
  encodeLine,
  type LogEnds,
  type LogName,
  maxInlineBytes,
} from '../../session/log/index.ts'
import { untilOnDisk } from '../database.ts'
import { nameContent, type NamedContent } from './session-rows.ts'

/** A record on its way to a log, encoded as far as that does not depend on its number. */
export interface EncodedRecord {
  log: LogName
  body: string
  /** Its data, if that is too large for a line. */
  blob?: NamedContent
  isTurn: boolean
  /** When it was appended, in milliseconds since the epoch. */
  at: number
  /** The next record belongs to the same append: one statement appends both. */
  isContinued: boolean
}

export function encodeRecord(log: LogName, entry: LogEntry, at: number, isContinued = false): EncodedRecord {
  const blob = entry.json.length > maxInlineBytes ? nameContent(entry.json) : undefined
  const body = encodeEntry(entry, blob, isContinued)
  const isTurn = log === 'journal' && entry.type === turnType
  return { log, body, blob, isTurn, at, isContinued }
}

/** New rows of one log. */
interface NewLogRows {
  lines: string[]
  /** The blob that each line names. */
  blobs: (string | null)[]
}

/** Records that one statement appends: all of them, or none. */
export interface AppendBatch {
  /** Where both logs end before it, and after it. */
  from: LogEnds
  end: LogEnds
  journal: NewLogRows
  audit: NewLogRows
  contents: NamedContent[]
  turns: number
  bytes: number
  lastAt: number | undefined
  /** How far the audit log has come, as the journal attests it after this batch. */
  checkpoint: string
  /** The number and the sum of each record. */
  places: { seq: number; sum: string }[]
}

/** Numbers the records and encodes their lines. `attested` is the checkpoint that the journal already has. */
export function encodeBatch(
  records: readonly EncodedRecord[],
  from: LogEnds,
  epoch: number,
  attested: string,
): AppendBatch {
  const blobs = new Map(records.flatMap(({ blob }) => (blob === undefined ? [] : [[blob.sha256, blob]])))
  const batch: AppendBatch = {
    from,
    end: { ...from },
    journal: { lines: [], blobs: [] },
    audit: { lines: [], blobs: [] },
    contents: [...blobs.values()],
    turns: records.filter(({ isTurn }) => isTurn).length,
    bytes: 0,
    lastAt: records.findLast(({ log }) => log === 'journal')?.at,
    checkpoint: attested,
    places: [],
  }
  for (const { bytes } of batch.contents) batch.bytes += bytes
  // The audit log first: the journal attests the audit lines that are committed together with it.
  encodeLog('audit', records, batch, epoch)
  const checkpoint = encodeCheckpoint(batch.end.audit)
  encodeLog('journal', records, batch, epoch, checkpoint === attested ? '' : checkpoint)
  // Without a journal line the checkpoint was not written; the next batch writes it.
  if (batch.journal.lines.length > 0) batch.checkpoint = checkpoint
  return batch
}

/** Encodes the lines of one log. `checkpoint` goes into the first of them. */
function encodeLog(
  log: LogName,
  records: readonly EncodedRecord[],
  batch: AppendBatch,
  epoch: number,
  checkpoint = '',
): void {
  let { seq, sum } = batch.from[log]
  const group = seq + 1
  const { lines, blobs } = batch[log]
  records.forEach((record, i) => {
    if (record.log !== log) return
    seq += 1
    const body = seq === group ? record.body + checkpoint : record.body
    const encoded = encodeLine(codecs[log], { seq, at: record.at, group, epoch }, body, sum)
    sum = encoded.sum
    lines.push(encoded.line)
    blobs.push(record.blob?.sha256 ?? null)
    batch.bytes += Buffer.byteLength(encoded.line)
    batch.places[i] = { seq, sum }
  })
  batch.end = { ...batch.end, [log]: { seq, sum } }
}

const insertLines = (log: LogName, head: string, lines: string, blobs: string): string =>
  `${log} AS (
    INSERT INTO stint.${log} (session, seq, line, blob)
    SELECT held.key, ${head}::bigint + new.nth, new.line, new.blob
    FROM held, unnest(${lines}::text[], ${blobs}::text[]) WITH ORDINALITY AS new (line, blob, nth)
  )`

/**
 * Appends a batch in one statement, which is one transaction. Its first part is the fence: the row of the
 * session changes only if the writer still holds it and knows where it ends, and without that row nothing is
 * inserted.
 */
const appendSql = `WITH held AS (
    UPDATE stint.session SET head_seq = $5, head_sum = $6, audit_seq = $7, audit_head = $8, turns = turns + $9, bytes = bytes + $10,
      last_at = coalesce(to_timestamp($11::float8 / 1000), last_at), beat = clock_timestamp()
    WHERE key = $1 AND token = $2 AND head_seq = $3 AND audit_seq = $4 AND removed_at IS NULL
    RETURNING key
  ), ${insertLines('journal', '$3', '$12', '$13')}, ${insertLines('audit', '$4', '$14', '$15')},
  blob AS (
    INSERT INTO stint.blob (session, sha256, content)
    SELECT held.key, new.sha256, new.content FROM held, unnest($16::text[], $17::text[]) AS new (sha256, content)
    ON CONFLICT DO NOTHING
  )
  SELECT ${untilOnDisk} FROM held`

/** The statement that appends a batch, with its values. It returns a row if it was carried out. */
export function appendStatement(key: string, token: string, batch: AppendBatch): [string, ...unknown[]] {
  const { from, end, journal, audit, contents, turns, bytes, lastAt } = batch
  return [
    appendSql,
    key,
    token,
    from.journal.seq,
    from.audit.seq,
    end.journal.seq,
    end.journal.sum,
    end.audit.seq,
    end.audit.sum,
    turns,
    bytes,
    lastAt ?? null,
    journal.lines,
    journal.blobs,
    audit.lines,
    audit.blobs,
    contents.map(({ sha256 }) => sha256),
    contents.map(({ content }) => content),
  ]
}
