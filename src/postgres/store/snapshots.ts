import type { UnsettledAct } from '../../session/audit-record.ts'
import { type LogEnds, verifiedText, withChecksum } from '../../session/log/index.ts'
import { emptyState, type FoldedState } from '../../session/state.ts'
import { type Content, contentOf } from './blob-row.ts'
import type { Database } from './database.ts'
import { sessionFenced } from '../../session/holder.ts'
import type { SessionRow } from './session-row.ts'

/** The state of a session at one position of its logs. */
export interface Snapshot {
  seq: number
  ends: LogEnds
  state: FoldedState
}

interface SnapshotBody extends LogEnds {
  schema: 1
  at: number
  turns: number
  unsettled: UnsettledAct[]
  slots: Record<string, { version: string; sha256?: string; broken?: string }>
}

/** A snapshot on its way: taken at one moment, written in another. */
export interface Draft {
  ends: LogEnds
  body: string
  payloads: Content[]
}

const kept = 3

/** `payloadOf` gives the text of a slot's value; it is not asked for one that is broken. */
export function draftSnapshot(
  ends: LogEnds,
  state: FoldedState,
  at: number,
  payloadOf: (ext: string) => string,
): Draft {
  const payloads = new Map<string, Content>()
  const slots: SnapshotBody['slots'] = {}
  for (const [ext, { version, broken }] of state.slots) {
    if (broken !== undefined) {
      slots[ext] = { version, broken }
      continue
    }
    const payload = contentOf(payloadOf(ext))
    payloads.set(payload.sha256, payload)
    slots[ext] = { version, sha256: payload.sha256 }
  }
  const { turns } = state
  const body: SnapshotBody = {
    schema: 1,
    ...ends,
    at,
    turns,
    unsettled: [...state.unsettled.values()],
    slots,
  }
  return { ends, body: withChecksum(JSON.stringify(body).slice(0, -1)), payloads: [...payloads.values()] }
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
  await database.transaction(async (ask) => {
    const held = await ask(
      'UPDATE stint.session SET beat = clock_timestamp() WHERE key = $1 AND token = $2 RETURNING key',
      key,
      token,
    )
    if (held.length === 0) throw sessionFenced(id)
    const there = await ask(
      'SELECT sha256 FROM stint.state WHERE session = $1 AND sha256 = ANY ($2::text[])',
      key,
      names,
    )
    const known = new Set(there.map(({ sha256 }) => sha256))
    const fresh = payloads.filter(({ sha256 }) => !known.has(sha256))
    await ask(
      `INSERT INTO stint.state (session, sha256, content) SELECT $1, new.* FROM unnest($2::text[], $3::text[]) AS new`,
      key,
      fresh.map(({ sha256 }) => sha256),
      fresh.map(({ content }) => content),
    )
    await ask('DELETE FROM stint.snapshot WHERE session = $1 AND seq = $2', key, seq)
    await ask(
      'INSERT INTO stint.snapshot (session, seq, body, payloads) VALUES ($1, $2, $3, $4::text[])',
      key,
      seq,
      body,
      names,
    )
    await ask(
      `DELETE FROM stint.snapshot WHERE session = $1 AND seq NOT IN
        (SELECT seq FROM stint.snapshot WHERE session = $1 ORDER BY seq DESC LIMIT ${kept})`,
      key,
    )
    await ask(
      `DELETE FROM stint.state AS state WHERE session = $1 AND NOT EXISTS
        (SELECT FROM stint.snapshot AS named WHERE named.session = $1 AND state.sha256 = ANY (named.payloads))`,
      key,
    )
  })
}

/** What a snapshot attests: how far both logs had come. */
export async function readSnapshotEnds(database: Database, key: string): Promise<LogEnds[]> {
  const rows = await database.query('SELECT body FROM stint.snapshot WHERE session = $1 ORDER BY seq', key)
  return rows.flatMap(({ body }) => parseBody(String(body)) ?? [])
}

/** From the newest on, those that can be read and are what was written. */
export async function* newestSnapshots(database: Database, key: string): AsyncGenerator<Snapshot> {
  const rows = await database.query(
    'SELECT body FROM stint.snapshot WHERE session = $1 ORDER BY seq DESC',
    key,
  )
  for (const row of rows) {
    const body = parseBody(String(row.body))
    const state = body === undefined ? undefined : await stateOf(database, key, body)
    if (body === undefined || state === undefined) continue
    yield { seq: body.journal.seq, ends: { journal: body.journal, audit: body.audit }, state }
  }
}

async function stateOf(
  database: Database,
  key: string,
  body: SnapshotBody,
): Promise<FoldedState | undefined> {
  const names = Object.values(body.slots).flatMap(({ sha256 }) => sha256 ?? [])
  const rows = await database.query(
    'SELECT content FROM stint.state WHERE session = $1 AND sha256 = ANY ($2::text[])',
    key,
    names,
  )
  // By what they are, not by what they are called.
  const contents = new Map(rows.map(({ content }) => [contentOf(String(content)).sha256, String(content)]))
  const state = emptyState()
  state.turns = body.turns
  for (const act of body.unsettled) state.unsettled.set(act.act, act)
  for (const [ext, { version, sha256, broken }] of Object.entries(body.slots)) {
    const content = contents.get(sha256 ?? '')
    if (broken !== undefined) state.slots.set(ext, { version, value: undefined, broken })
    else if (content === undefined) return undefined
    else state.slots.set(ext, { version, value: JSON.parse(content) as unknown })
  }
  return state
}

function parseBody(text: string): SnapshotBody | undefined {
  const whole = verifiedText(Buffer.from(text))
  if (whole === undefined) return undefined
  const body = JSON.parse(`${whole.toString()}}`) as SnapshotBody
  return body.schema === 1 ? body : undefined
}
