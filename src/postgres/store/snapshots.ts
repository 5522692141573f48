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
import { type FoldedState, sessionFenced } from '../../session/index.ts'
import { type Content, contentOf } from './blob-row.ts'
import type { Database } from '../database.ts'
import type { SessionRow } from './session-row.ts'

/** A snapshot on its way: taken at one moment, written in another. */
export interface Draft {
  ends: LogEnds
  body: string
  payloads: Content[]
}

/** `payloadOf` gives the text of a slot's value; it is not asked for one that is broken. */
export function draftSnapshot(
  ends: LogEnds,
  state: FoldedState,
  at: number,
  payloadOf: (ext: string) => string,
): Draft {
  const payloads = new Map<string, Content>()
  const body = encodeSnapshot({ ends, state }, at, (ext) => {
    const payload = contentOf(payloadOf(ext))
    payloads.set(payload.sha256, payload)
    return { sha256: payload.sha256, bytes: payload.bytes }
  })
  return { ends, body, payloads: [...payloads.values()] }
}

/** Only as long as the session is ours: until it is written nobody can take it. A payload that is there already costs nothing. */
export async function writeSnapshot(
  database: Database,
  { id, key }: SessionRow,
  token: string,
  { ends, body, payloads }: Draft,
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
    const there = await query(
      'SELECT sha256 FROM stint.state WHERE session = $1 AND sha256 = ANY ($2::text[])',
      key,
      names,
    )
    const known = new Set(there.map(({ sha256 }) => sha256))
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

/** What a snapshot attests: how far both logs had come. */
export async function readSnapshotEnds(database: Database, key: string): Promise<LogEnds[]> {
  const rows = await database.query('SELECT body FROM stint.snapshot WHERE session = $1 ORDER BY seq', key)
  return rows.flatMap(({ body }) => parseBody(body)?.ends ?? [])
}

/** From the newest on, those that can be read and are what was written. */
export async function* newestSnapshots(database: Database, key: string): AsyncGenerator<Snapshot> {
  const rows = await database.query(
    'SELECT body FROM stint.snapshot WHERE session = $1 ORDER BY seq DESC',
    key,
  )
  for (const { body } of rows) {
    const stored = parseBody(body)
    const snapshot = stored && (await restore(database, key, stored))
    if (snapshot !== undefined) yield snapshot
  }
}

const parseBody = (body: unknown): StoredSnapshot | undefined =>
  parseSnapshot(Buffer.from(String(body)), parseLogEnd)

async function restore(
  database: Database,
  key: string,
  stored: StoredSnapshot,
): Promise<Snapshot | undefined> {
  const names = Object.values(stored.slots).flatMap((slot) => ('sha256' in slot ? [slot.sha256] : []))
  const rows = await database.query(
    'SELECT content FROM stint.state WHERE session = $1 AND sha256 = ANY ($2::text[])',
    key,
    names,
  )
  // By what they are, not by what they are called.
  const contents = new Map(rows.map(({ content }) => [contentOf(String(content)).sha256, String(content)]))
  return restoreSnapshot(stored, ({ sha256 }) => contents.get(sha256))
}
