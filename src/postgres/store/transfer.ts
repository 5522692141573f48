import { newSessionId } from '../../base/text/id.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import {
  checkSessionId,
  damageFound,
  importedManifest,
  sessionExists,
  sessionLocked,
  type SessionTransfer,
} from '../../session/index.ts'
import { emptyLogEnd, type LogEnd, type LogName, parseLogRecord } from '../../session/log/index.ts'
import { readBlob } from './blob-row.ts'
import { createStatement } from './create-statement.ts'
import type { Database, Query } from '../database.ts'
import { rowStanding } from './session-hold.ts'
import { follow, linesOf } from './log-lines.ts'
import { damageHint } from './recover.ts'
import { findRow, postgresId, readManifest } from './session-row.ts'
import { verify } from './verify.ts'

/** A session to be taken along: `SESSION_LOCKED` if somebody holds it, and what its damage is if it has any. */
export async function pack(database: Database, id: string): Promise<SessionTransfer> {
  const row = await findRow(database, id)
  if (rowStanding(row) === 'held') throw sessionLocked(id, row.holder, row.now)
  const damage = damageFound(id, await verify(database, id), damageHint)
  if (damage !== undefined) throw damage
  const { key, ends, turns } = row
  return {
    manifest: await readManifest(database, row),
    ends,
    turns,
    async *lines(log) {
      for await (const { line } of linesOf(database, log, key, { from: 1, to: ends[log].seq })) yield line
    },
    blob: (name) => readBlob(database, key, name),
  }
}

export interface Arrival {
  id?: string
  now: number
}

/** A new session with what the parcel has, held by nobody: whole, and checked to the byte, or not at all. */
export async function unpack(
  database: Database,
  parcel: SessionTransfer,
  { id = newSessionId(), now }: Arrival,
): Promise<string> {
  checkSessionId(id)
  const manifest = importedManifest(parcel, { id, store: postgresId, now })
  await database.transaction(
    async (query) => {
      const { ends, turns } = parcel
      const dowry = { epoch: 1, ends, turns, bytes: 0, lastAt: Date.parse(manifest.created_at) }
      const [made] = await query(...createStatement(manifest, undefined, dowry))
      if (made === undefined) throw sessionExists(id)
      const unpacking = new Unpacking(query, parcel, String(made.key))
      await unpacking.log('journal')
      await unpacking.log('audit')
      await unpacking.finish()
    },
    { long: true },
  )
  return id
}

/** What one statement brings. */
const most = { lines: 2000, bytes: 4 << 20 }

class Unpacking {
  readonly #query: Query
  readonly #parcel: SessionTransfer
  readonly #key: string
  readonly #blobs = new Set<string>()
  #bytes = 0
  #epoch = 0
  #lastAt: number | undefined

  constructor(query: Query, parcel: SessionTransfer, key: string) {
    this.#query = query
    this.#parcel = parcel
    this.#key = key
  }

  async log(log: LogName): Promise<void> {
    let end: LogEnd = emptyLogEnd(log)
    let rows: { seq: number; line: string; blob: string | null }[] = []
    let bytes = 0
    const flush = async (): Promise<void> => {
      await this.#insert(log, rows)
      this.#bytes += bytes
      ;[rows, bytes] = [[], 0]
    }
    for await (const line of this.#parcel.lines(log)) {
      const next = follow(log, { seq: end.seq + 1, line }, end)
      if (next === undefined) throw changed(log, end.seq + 1)
      end = next
      const { blob, epoch, at } = parseLogRecord(Buffer.from(line))
      if (blob !== undefined) this.#blobs.add(blob.sha256)
      this.#epoch = Math.max(this.#epoch, epoch)
      if (log === 'journal') this.#lastAt = at
      rows.push({ seq: end.seq, line, blob: blob?.sha256 ?? null })
      bytes += Buffer.byteLength(line)
      if (rows.length >= most.lines || bytes >= most.bytes) await flush()
    }
    await flush()
    const { seq, tail } = this.#parcel.ends[log]
    if (end.seq !== seq || end.tail !== tail) throw changed(log, end.seq + 1)
  }

  /** The blobs that the lines name, and what a list shows. */
  async finish(): Promise<void> {
    for (const sha256 of this.#blobs) {
      const content = await this.#parcel.blob({ sha256, bytes: 0 })
      this.#bytes += Buffer.byteLength(content)
      await this.#query(
        'INSERT INTO stint.blob (session, sha256, content) VALUES ($1, $2, $3)',
        this.#key,
        sha256,
        content,
      )
    }
    await this.#query(
      `UPDATE stint.session SET bytes = $2, epoch = $3, last_at = coalesce(to_timestamp($4::float8 / 1000), last_at) WHERE key = $1`,
      this.#key,
      this.#bytes,
      Math.max(1, this.#epoch),
      this.#lastAt ?? null,
    )
  }

  async #insert(
    log: LogName,
    rows: readonly { seq: number; line: string; blob: string | null }[],
  ): Promise<void> {
    await this.#query(
      `INSERT INTO stint.${log} (session, seq, line, blob)
      SELECT $1, new.* FROM unnest($2::bigint[], $3::text[], $4::text[]) AS new`,
      this.#key,
      rows.map(({ seq }) => seq),
      rows.map(({ line }) => line),
      rows.map(({ blob }) => blob),
    )
  }
}

const changed = (log: LogName, seq: number): StintError =>
  new StintError(
    log === 'journal' ? 'JOURNAL_CORRUPT' : 'AUDIT_CORRUPT',
    `record ${seq} of the ${log} did not arrive as it was written: nothing was copied`,
  )
