import { type FoldedState, sessionFenced } from '../../session/index.ts'
import {
  encodeSnapshot,
  keptSnapshots,
  type LogEnds,
  parseLogEnd,
  parseSnapshot,
  restoreSnapshot,
  type Snapshot,
  type StoredSnapshot,
} from '../../session/log/index.ts'
import type { Database } from '../database.ts'
import type { SessionRow } from './session-row.ts'
import { nameContent, type NamedContent, type SessionRows } from './session-rows.ts'

/** A snapshot that was taken and is not written yet. */
export interface SnapshotDraft {
  ends: LogEnds
  body: string
  /** The values of its slots. */
  payloads: NamedContent[]
}

/** Takes a snapshot. `payloadOf` returns the JSON of a slot's value; it is not called for a broken slot. */
export function draftSnapshot(
  ends: LogEnds,
  state: FoldedState,
  at: number,
  payloadOf: (ext: string) => string,
): SnapshotDraft {
  const payloads = new Map<string, NamedContent>()
  const body = encodeSnapshot({ ends, state }, at, (ext) => {
    const payload = nameContent(payloadOf(ext))
    payloads.set(payload.sha256, payload)
    return { sha256: payload.sha256, bytes: payload.bytes }
  })
  return { ends, body, payloads: [...payloads.values()] }
}

/**
 * Writes a snapshot and deletes older ones. `FENCED` if another process has taken the session; until the
 * transaction ends, the updated row keeps others from taking it. Payloads that are already stored are not
 * sent again.
 */
export async function writeSnapshot(
  database: Database,
  { id, key }: SessionRow,
  token: string,
  { ends, body, payloads }: SnapshotDraft,
): Promise<void> {
  const { seq } = ends.journal
  const names = payloads.map(({ sha256 }) => sha256)
  await database.transaction(async (query) => {
    const held = await query(
      'UPDATE stint.session SET beat = clock_timestamp() WHERE key = $1 AND token = $2 RETURNING key',
      key,
      token,
    )
    if (held.length === 0) throw sessionFenced(id)
    const stored = await query(
      'SELECT sha256 FROM stint.state WHERE session = $1 AND sha256 = ANY ($2::text[])',
      key,
      names,
    )
    const known = new Set(stored.map(({ sha256 }) => sha256))
    const fresh = payloads.filter(({ sha256 }) => !known.has(sha256))
    await query(
      `INSERT INTO stint.state (session, sha256, content) SELECT $1, new.* FROM unnest($2::text[], $3::text[]) AS new`,
      key,
      fresh.map(({ sha256 }) => sha256),
      fresh.map(({ content }) => content),
    )
    await query('DELETE FROM stint.snapshot WHERE session = $1 AND seq = $2', key, seq)
    await query(
      'INSERT INTO stint.snapshot (session, seq, body, payloads) VALUES ($1, $2, $3, $4::text[])',
      key,
      seq,
      body,
      names,
    )
    await query(
      `DELETE FROM stint.snapshot WHERE session = $1 AND seq NOT IN
        (SELECT seq FROM stint.snapshot WHERE session = $1 ORDER BY seq DESC LIMIT ${keptSnapshots})`,
      key,
    )
    await query(
      `DELETE FROM stint.state AS state WHERE session = $1 AND NOT EXISTS
        (SELECT FROM stint.snapshot AS named WHERE named.session = $1 AND state.sha256 = ANY (named.payloads))`,
      key,
    )
  })
}

/** Reads how far both logs had come at each snapshot. */
export async function readSnapshotEnds({ database, key }: SessionRows): Promise<LogEnds[]> {
  const rows = await database.query('SELECT body FROM stint.snapshot WHERE session = $1 ORDER BY seq', key)
  return rows.flatMap(({ body }) => parseBody(body)?.ends ?? [])
}

/** Reads the intact snapshots, newest first. */
export async function* newestSnapshots(session: SessionRows): AsyncGenerator<Snapshot> {
  const sql = 'SELECT body FROM stint.snapshot WHERE session = $1 ORDER BY seq DESC'
  for (const { body } of await session.database.query(sql, session.key)) {
    const stored = parseBody(body)
    const snapshot = stored && (await restore(session, stored))
    if (snapshot !== undefined) yield snapshot
  }
}

const parseBody = (body: unknown): StoredSnapshot | undefined =>
  parseSnapshot(Buffer.from(String(body)), parseLogEnd)

async function restore(
  { database, key }: SessionRows,
  stored: StoredSnapshot,
): Promise<Snapshot | undefined> {
  const names = Object.values(stored.slots).flatMap((slot) => ('sha256' in slot ? [slot.sha256] : []))
  const sql = 'SELECT content FROM stint.state WHERE session = $1 AND sha256 = ANY ($2::text[])'
  const rows = await database.query(sql, key, names)
  // Named by their hash, not by their column: a value that was changed is not found.
  const contents = new Map(rows.map(({ content }) => [nameContent(String(content)).sha256, String(content)]))
  return restoreSnapshot(stored, ({ sha256 }) => contents.get(sha256))
}
