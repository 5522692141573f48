import { type Clock, recordClock, systemClock } from '../../base/process/clock.ts'
import {
  createStore,
  type DiskUse,
  type MeasuredSessions,
  emptyState,
  type HeldSession,
  type Holder,
  type ListOptions,
  type Manifest,
  nothingToReport,
  type ReadableSession,
  type RemovedSession,
  type RemoveOptions,
  sessionExists,
  type SessionHold,
  sessionNotFound,
  type SessionStore,
  type SessionSummary,
  type StoreDriver,
  type TransferDriver,
  type WriteGuard,
} from '../../session/index.ts'
import { emptyLogEnds } from '../../session/log/index.ts'
import { Database, type DatabaseOptions, milliseconds, untilOnDisk } from '../database.ts'
import { wantedSessions } from '../waiters.ts'
import { forkRows } from './fork.ts'
import { PostgresSession } from './held-session.ts'
import { openTakenRow } from './open-session.ts'
import { ReadableRows, summarizeRow } from './readable-session.ts'
import { deleteSession } from './purge.ts'
import { damageHint } from './recover.ts'
import { newHold, releaseSessionRow, acquireSessionRow } from './session-hold.ts'
import {
  createStatement,
  findSessionRow,
  parseSessionRow,
  postgresId,
  readRowManifest,
  selectSessionRows,
} from './session-row.ts'
import { readTransferFromRows, writeTransferToRows } from './transfer.ts'

export interface PostgresStoreOptions extends DatabaseOptions {
  clock?: Clock
}

/**
 * Sessions in PostgreSQL, for more than one machine: the same calls and guarantees as in files.
 *
 * @example
 * const store = postgresStore({ pool: new pg.Pool({ connectionString }) })
 * await using session = await store.create({ tool: 'my-agent' })
 */
export const postgresStore = (options: PostgresStoreOptions): SessionStore =>
  createStore(new PostgresDriver(options), options.clock)

/** The driver that keeps sessions in PostgreSQL. */
export class PostgresDriver implements StoreDriver {
  readonly id = postgresId
  readonly damageHint = damageHint
  readonly #database: Database
  readonly #clock: Clock
  readonly #wanted: ReturnType<typeof wantedSessions>

  constructor({ clock = systemClock, ...options }: PostgresStoreOptions) {
    this.#database = new Database(options)
    this.#clock = recordClock(clock)
    this.#wanted = wantedSessions(this.#database)
  }

  async create(manifest: Manifest, hold: SessionHold, guard: WriteGuard): Promise<HeldSession> {
    const columns = newHold(hold)
    const lastAt = Date.parse(manifest.created_at)
    const initial = { epoch: 1, ends: emptyLogEnds, turns: 0, bytes: 0, lastAt }
    const statement = createStatement(manifest, columns, initial)
    const database = this.#database
    // Fails at once if the server is away: only a held session waits for it.
    await database.assertReady()
    const [row] = await database.retry(() => database.write(...statement))
    if (row === undefined) throw sessionExists(manifest.session_id)
    return new PostgresSession({
      database,
      clock: this.#clock,
      guard,
      row: parseSessionRow(row),
      token: columns.token,
      manifest,
      recovered: { state: emptyState(), report: nothingToReport(), bytes: 0, snapshotDue: false },
    })
  }

  async open(id: string, hold: SessionHold, guard: WriteGuard): Promise<HeldSession> {
    const context = { database: this.#database, clock: this.#clock, hold, guard }
    return await openTakenRow(context, await acquireSessionRow(this.#database, id, hold))
  }

  async read(id: string): Promise<ReadableSession> {
    const row = await findSessionRow(this.#database, id)
    return new ReadableRows(this.#database, row, await readRowManifest(this.#database, row))
  }

  async list({ workspace, tool, newest, ...others }: ListOptions): Promise<SessionSummary[]> {
    // The store applies the other options to the rows, so a limit here could leave out sessions that match.
    const limit = Object.values(others).every((option) => option === undefined) ? newest : undefined
    const filter = 'store = $1 AND ($2::text IS NULL OR workspace = $2) AND ($3::text IS NULL OR tool = $3)'
    const rows = await this.#database.query(
      `${selectSessionRows(filter)} ORDER BY session.last_at DESC, id LIMIT $4`,
      postgresId,
      workspace ?? null,
      tool ?? null,
      limit ?? null,
    )
    return rows.map((row) => summarizeRow(parseSessionRow(row)))
  }

  async fork(from: string, at: number | undefined, manifestAt: (seq: number) => Manifest): Promise<void> {
    await forkRows(this.#database, from, at, manifestAt)
  }

  async holder(id: string): Promise<Holder | undefined> {
    return (await findSessionRow(this.#database, id)).holder
  }

  async want(id: string): Promise<void> {
    await this.#wanted.want(id)
  }

  async wanted(ids: readonly string[]): Promise<string[]> {
    return await this.#wanted.wanted(ids)
  }

  async unlock(id: string): Promise<Holder | undefined> {
    if ((await findSessionRow(this.#database, id)).token === undefined) return undefined
    const hold: SessionHold = { kind: 'writer', purpose: 'unlock' }
    const acquired = await acquireSessionRow(this.#database, id, hold, { force: true })
    await releaseSessionRow(this.#database, acquired.row, acquired.token)
    // The holder that lost the session: another one may have taken it since the first look.
    return acquired.before.holder
  }

  /** Hides the session and frees its id; `purge` deletes its rows. */
  async remove(id: string, { purge = false }: RemoveOptions = {}): Promise<void> {
    const { row } = await acquireSessionRow(
      this.#database,
      id,
      { kind: 'writer', purpose: 'remove' },
      { remove: true },
    )
    if (purge) await this.#database.transaction((query) => deleteSession(query, row.key), { long: true })
  }

  async removed(): Promise<RemovedSession[]> {
    const rows = await this.#database.query(
      `SELECT key, id, title, ${milliseconds('removed_at')} AS removed_at FROM stint.session
      WHERE removed_at IS NOT NULL AND store = $1 ORDER BY stint.session.removed_at DESC`,
      postgresId,
    )
    return rows.map(({ key, id, title, removed_at }) => ({
      name: `${String(id)}-${String(key)}`,
      id: String(id),
      ...(typeof title === 'string' && { title }),
      removedAt: Math.round(Number(removed_at)),
    }))
  }

  async restore(name: string): Promise<string> {
    const found = (await this.removed()).find((each) => each.name === name)
    if (found === undefined) throw sessionNotFound(name)
    const [row] = await this.#database.write(
      `UPDATE stint.session SET removed_at = NULL, (token, holder, since, beat) = (NULL, NULL, NULL, NULL)
      WHERE key = $1 AND removed_at IS NOT NULL AND NOT EXISTS (
        SELECT FROM stint.session AS other WHERE other.id = session.id AND other.removed_at IS NULL
      ) RETURNING id, ${untilOnDisk}`,
      name.slice(found.id.length + 1),
    )
    if (row === undefined) throw sessionExists(found.id)
    return found.id
  }

  async diskUse(): Promise<MeasuredSessions> {
    return await measureRows(this.#database)
  }

  async ids(prefix: string): Promise<string[]> {
    const rows = await this.#database.query(
      `SELECT id FROM stint.session WHERE removed_at IS NULL AND store = $2 AND (starts_with(id, $1) OR starts_with(id, 'ses_' || $1)) ORDER BY id`,
      prefix,
      postgresId,
    )
    return rows.map(({ id }) => String(id))
  }

  async noteDamage(id: string, what: string): Promise<void> {
    const sql = 'UPDATE stint.session SET damage = coalesce(damage, $2) WHERE id = $1 AND removed_at IS NULL'
    await this.#database.write(sql, id, what).catch(() => {
      // A role that may only read cannot note the damage; the caller reports it anyway.
    })
  }

  get transfer(): TransferDriver {
    return {
      read: (id) => readTransferFromRows(this.#database, id),
      write: (transfer, id) => writeTransferToRows(this.#database, transfer, this.#clock.now(), id),
    }
  }
}

/** Bytes of a row besides its columns: its header, its keys and its entry in the index. */
const rowBytes = 60

/** Adds up what the rows of one table take for a session, as they are stored: compressed, where they are. */
const sizeIn = (table: string, ...columns: string[]): string =>
  `(SELECT coalesce(sum(${columns.map((column) => `pg_column_size(${column})`).join(' + ')} + ${rowBytes}), 0)
    FROM stint.${table} WHERE ${table}.session = owner.key)`

const useSql = `SELECT id, removed_at IS NOT NULL AS removed,
    ${sizeIn('journal', 'line')} AS journal, ${sizeIn('audit', 'line')} AS audit,
    ${sizeIn('blob', 'content')} AS blobs,
    ${sizeIn('snapshot', 'body')} + ${sizeIn('state', 'content')} AS snapshots,
    ${sizeIn('revision', 'body')} + pg_column_size(manifest) + ${rowBytes} AS other
  FROM stint.session AS owner WHERE store = $1`

/** Measures every session on the server by kind, and those that are removed and not purged yet. */
async function measureRows(database: Database): Promise<MeasuredSessions> {
  // It reads the sizes of all rows, which may take minutes.
  const rows = await database.transaction((query) => query(useSql, postgresId), { long: true })
  const measured: MeasuredSessions = { sessions: [], trash: { bytes: 0, disk_bytes: 0 } }
  for (const { id, removed, journal, audit, blobs, snapshots, other } of rows) {
    const sizes = { journal, audit, blobs, snapshots, other }
    const kinds = Object.entries(sizes).map(([kind, size]) => [kind, Number(size)] as const)
    const bytes = kinds.reduce((sum, [, size]) => sum + size, 0)
    const disk = { quarantine: 0, ...Object.fromEntries(kinds) } as DiskUse['disk']
    if (removed !== true) measured.sessions.push({ session_id: String(id), bytes, disk_bytes: bytes, disk })
    else measured.trash = { bytes: measured.trash.bytes + bytes, disk_bytes: measured.trash.bytes + bytes }
  }
  return measured
}
