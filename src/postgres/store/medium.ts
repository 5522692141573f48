import type { Clock } from '../../base/process/clock.ts'
import {
  type BuiltInMedium,
  createStore,
  type HeldMedium,
  type ListOptions,
  type Manifest,
  type ReadableMedium,
  type RemovedSession,
  type RemoveOptions,
  type SessionContents,
  sessionExists,
  type SessionHold,
  sessionNotFound,
  type SessionStore,
  type SessionSummary,
} from '../../session/index.ts'
import { Database, type DatabaseOptions, milliseconds, untilOnDisk } from '../database.ts'
import { wantedSessions } from '../waiters.ts'
import { HeldRows } from './held-rows.ts'
import { isLoaded, loadRows } from './load-rows.ts'
import { deleteSession } from './purge.ts'
import { ReadableRows, summarizeRow } from './readable-rows.ts'
import { acquireSessionRow, newHold, undoAcquireSessionRow } from './session-hold.ts'
import {
  createStatement,
  findSessionRow,
  parseSessionRow,
  postgresId,
  readRowManifest,
  selectSessionRows,
} from './session-row.ts'

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
  createStore(new PostgresMedium(options), options.clock)

/** Keeps sessions in PostgreSQL. */
export class PostgresMedium implements BuiltInMedium {
  readonly id = postgresId
  readonly files = undefined
  readonly #database: Database
  readonly #wanted: ReturnType<typeof wantedSessions>

  constructor(options: DatabaseOptions) {
    this.#database = new Database(options)
    this.#wanted = wantedSessions(this.#database)
  }

  async create(manifest: Manifest, hold: SessionHold): Promise<HeldMedium> {
    const columns = newHold(hold)
    const statement = createStatement(manifest, columns)
    const database = this.#database
    // Fails at once if the server is away: only a held session waits for it.
    await database.assertReady()
    const [made] = await database.retry(() => database.write(...statement))
    if (made === undefined) throw sessionExists(manifest.session_id)
    const row = parseSessionRow(made)
    return new HeldRows({
      database,
      manifest,
      acquired: { row, token: columns.token, before: row },
      isNew: true,
    })
  }

  async open(id: string, hold: SessionHold): Promise<HeldMedium> {
    const database = this.#database
    const acquired = await acquireSessionRow(database, id, hold)
    try {
      const manifest = await database.retry(() => readRowManifest(database, acquired.row))
      return new HeldRows({ database, acquired, manifest, isNew: false })
    } catch (error) {
      await undoAcquireSessionRow(database, acquired).catch(() => {
        // The caller must hear the first error. The session counts as held until this process ends.
      })
      throw error
    }
  }

  async read(id: string): Promise<ReadableMedium> {
    const database = this.#database
    const row = await findSessionRow(database, id)
    const manifest = await readRowManifest(database, row)
    return new ReadableRows((sql, ...values) => database.query(sql, ...values), row, manifest)
  }

  async load(manifest: Manifest, contents: SessionContents): Promise<void> {
    await loadRows(this.#database, manifest, contents)
  }

  async list({ workspace, tool, newest, ...others }: ListOptions): Promise<SessionSummary[]> {
    // The store applies the other options to the rows, so a limit here could leave out sessions that match.
    const limit = Object.values(others).every((option) => option === undefined) ? newest : undefined
    const filter = `store = $1 AND ($2::text IS NULL OR workspace = $2) AND ($3::text IS NULL OR tool = $3)
      AND ($5::text IS NULL OR starts_with(id, $5))`
    const rows = await this.#database.query(
      `${selectSessionRows(filter)} ORDER BY session.last_at DESC, id LIMIT $4`,
      postgresId,
      workspace ?? null,
      tool ?? null,
      limit ?? null,
      others.prefix ?? null,
    )
    return rows.map((row) => summarizeRow(parseSessionRow(row)))
  }

  /** Hides the session and frees its id; `purge` deletes its rows. */
  async remove(id: string, { purge = false }: RemoveOptions): Promise<void> {
    const hold: SessionHold = { kind: 'writer', purpose: 'remove' }
    const { row } = await acquireSessionRow(this.#database, id, hold, true)
    if (purge) await this.#database.transaction((query) => deleteSession(query, row.key), { long: true })
  }

  async noteDamage(id: string, what: string | undefined): Promise<void> {
    const damage = what === undefined ? 'NULL' : 'coalesce(damage, $2)'
    const sql = `UPDATE stint.session SET damage = ${damage} WHERE id = $1 AND removed_at IS NULL`
    await this.#database.write(sql, id, ...(what === undefined ? [] : [what])).catch(() => {
      // A role that may only read cannot note the damage; the caller reports it anyway.
    })
  }

  async want(id: string): Promise<void> {
    await this.#wanted.want(id)
  }

  async wanted(ids: readonly string[]): Promise<string[]> {
    return await this.#wanted.wanted(ids)
  }

  async ids(prefix: string): Promise<string[]> {
    const rows = await this.#database.query(
      `SELECT id FROM stint.session WHERE removed_at IS NULL AND store = $2
      AND (starts_with(id, $1) OR starts_with(id, 'ses_' || $1)) ORDER BY id`,
      prefix,
      postgresId,
    )
    return rows.map(({ id }) => String(id))
  }

  async removed(): Promise<RemovedSession[]> {
    const rows = await this.#database.query(
      `SELECT key, id, title, ${milliseconds('removed_at')} AS removed_at FROM stint.session
      WHERE removed_at IS NOT NULL AND store = $1 AND ${isLoaded} ORDER BY stint.session.removed_at DESC`,
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
}
