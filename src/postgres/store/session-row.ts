import type { SqlRow } from '../pool.ts'
import { milliseconds } from '../database.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import type { LogEnds } from '../../session/log/index.ts'
import {
  assertWrittenBy,
  checkSessionId,
  type Holder,
  type Manifest,
  parseHolder,
  parseManifest,
  sessionNotFound,
} from '../../session/index.ts'
import type { Database } from '../database.ts'

/** What every manifest of this store names as the store that wrote it. */
export const postgresId = 'postgres'

/** What the row of a session says, at one moment of the server's clock. */
export interface SessionRow {
  key: string
  id: string
  store: string
  /** The manifest without its revisions. */
  manifest: string
  rev: number
  tool?: string
  title?: string
  workspace?: string
  epoch: number
  /** Of the hold; undefined if nobody has it. */
  token?: string
  holder?: RemoteHolder
  ends: LogEnds
  turns: number
  bytes: number
  lastAt: number
  damage?: string
  /** The server's clock. */
  now: number
}

/** The holder may be on another machine. */
export interface RemoteHolder extends Holder {
  host: string
}

const rowColumns = `key, id, store, manifest, rev, tool, title, workspace, epoch, token, holder,
  ${milliseconds('since')} AS since, ${milliseconds('beat')} AS beat, head_seq, head_sum, audit_seq, audit_head, turns, bytes,
  ${milliseconds('last_at')} AS last_at, damage, ${milliseconds('clock_timestamp()')} AS now`

/** Rows of sessions that are there; `$1` and on are the condition's. */
export const selectRows = (where: string): string =>
  `SELECT ${rowColumns} FROM stint.session WHERE removed_at IS NULL AND ${where}`

export function rowOf(row: SqlRow): SessionRow {
  const text = (name: string): string | undefined => (row[name] as string | null) ?? undefined
  const count = (name: string): number => Number(row[name])
  const epoch = count('epoch')
  return {
    key: String(row.key),
    id: String(row.id),
    store: String(row.store),
    manifest: String(row.manifest),
    rev: count('rev'),
    tool: text('tool'),
    title: text('title'),
    workspace: text('workspace'),
    epoch,
    token: text('token'),
    holder: text('token') === undefined ? undefined : holderOf(row, epoch),
    ends: {
      journal: { seq: count('head_seq'), tail: String(row.head_sum) },
      audit: { seq: count('audit_seq'), tail: String(row.audit_head) },
    },
    turns: count('turns'),
    bytes: count('bytes'),
    lastAt: Math.round(count('last_at')),
    damage: text('damage'),
    now: count('now'),
  }
}

function holderOf({ holder, since, beat }: SqlRow, epoch: number): RemoteHolder | undefined {
  let value: Record<string, unknown>
  try {
    value = JSON.parse(String(holder)) as Record<string, unknown>
  } catch {
    return undefined
  }
  const times = { since: Math.round(Number(since)), beat: Math.round(Number(beat)) }
  const parsed = parseHolder({ ...value, ...times }, epoch)
  return parsed === undefined ? undefined : { ...parsed, host: String(value.host ?? '') }
}

/** The row of a session of ours: `NOT_FOUND`, `RESUME_MISMATCH`. */
export async function findRow(database: Database, id: string): Promise<SessionRow> {
  checkSessionId(id)
  const [row] = await database.query(selectRows('id = $1'), id)
  if (row === undefined) throw sessionNotFound(id)
  const found = rowOf(row)
  assertWrittenBy(postgresId, id, found.store)
  return found
}

/** The manifest with its revisions. */
export async function readManifest(
  database: Database,
  { key, id, manifest: text }: SessionRow,
): Promise<Manifest> {
  const rows = await database.query('SELECT body FROM stint.revision WHERE session = $1 ORDER BY rev', key)
  const revisions = `[${rows.map(({ body }) => String(body)).join(',')}]`
  const manifest = parseManifest(`${text.slice(0, -1)},"revisions":${revisions}}`)
  if (manifest === undefined || manifest.session_id !== id)
    throw new StintError('JOURNAL_CORRUPT', `the manifest of ${id} makes no sense`, {
      hint: 'Restore it from a backup of the database.',
    })
  return manifest
}

/** All of a manifest but its revisions, which are rows of their own. */
export const manifestText = (manifest: Manifest): string =>
  JSON.stringify({ ...manifest, revisions: undefined })
