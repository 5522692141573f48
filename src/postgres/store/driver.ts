import { type Clock, systemClock } from '../../base/process/clock.ts'
import {
  checkSessionId,
  type HeldSession,
  type Holder,
  type ListOptions,
  type Manifest,
  type ReadableSession,
  sessionExists,
  type SessionHold,
  type SessionSummary,
  type SpoolEntry,
  type StoreDriver,
  type TransferDriver,
  type WriteGuard,
} from '../../session/index.ts'
import { emptyLogEnds } from '../../session/log/index.ts'
import { sessionVersion } from '../schema.ts'
import { createStatement } from './create-statement.ts'
import { Database, type DatabaseOptions } from '../database.ts'
import { forkRows } from './fork.ts'
import { newClaim, release, take } from './session-hold.ts'
import { type OpenContext, openNew, openTaken } from './open-session.ts'
import { damageHint } from './recover.ts'
import { pack, unpack } from './transfer.ts'
import { ReadableRows } from './readable-session.ts'
import { findRow, postgresId, readManifest, rowOf, selectRows } from './session-row.ts'
import { countWaiting, leave, readSpooled } from './spool.ts'
import { summaryOf } from './summary.ts'

export interface PostgresDriverOptions extends DatabaseOptions {
  clock?: Clock
}

/** Sessions in PostgreSQL. */
export class PostgresDriver implements StoreDriver {
  readonly id = postgresId
  readonly damageHint = damageHint
  readonly #database: Database
  readonly #clock: Clock

  constructor({ clock = systemClock, ...options }: PostgresDriverOptions) {
    this.#database = new Database(options, sessionVersion)
    this.#clock = clock
  }

  async create(manifest: Manifest, hold: SessionHold, guard: WriteGuard): Promise<HeldSession> {
    const { session_id: id } = manifest
    checkSessionId(id)
    const claim = newClaim(hold)
    const lastAt = Date.parse(manifest.created_at)
    const statement = createStatement(manifest, claim, {
      epoch: 1,
      ends: emptyLogEnds,
      turns: 0,
      bytes: 0,
      lastAt,
    })
    const database = this.#database
    // Fails at once if the server is away: only a held session waits for it.
    await database.assertReady()
    await database.retry(() => database.query(...statement))
    const [row] = await database.retry(() => database.query(selectRows('id = $1'), id))
    // What is there with our token is ours, whichever try has made it.
    if (row === undefined || row.token !== claim.token) throw sessionExists(id)
    return openNew(this.#context(hold, guard), rowOf(row), claim.token, manifest)
  }

  async open(id: string, hold: SessionHold, guard: WriteGuard): Promise<HeldSession> {
    return await openTaken(this.#context(hold, guard), await take(this.#database, id, hold))
  }

  async read(id: string): Promise<ReadableSession> {
    const row = await findRow(this.#database, id)
    return new ReadableRows(this.#database, row, await readManifest(this.#database, row))
  }

  async list({ workspace, tool }: ListOptions): Promise<SessionSummary[]> {
    const rows = await this.#database.query(
      `${selectRows('store = $1 AND ($2::text IS NULL OR workspace = $2) AND ($3::text IS NULL OR tool = $3)')} ORDER BY last_at DESC, id`,
      postgresId,
      workspace ?? null,
      tool ?? null,
    )
    return rows.map((row) => summaryOf(rowOf(row)))
  }

  async fork(from: string, at: number | undefined, manifestAt: (seq: number) => Manifest): Promise<void> {
    await forkRows(this.#database, from, at, manifestAt)
  }

  async spool(id: string, entries: readonly SpoolEntry[]): Promise<void> {
    checkSessionId(id)
    await leave(this.#database, id, entries)
  }

  async spooled(id: string): Promise<SpoolEntry[]> {
    return await readSpooled(this.#database, id)
  }

  async hasSpool(id: string): Promise<boolean> {
    return (await countWaiting(this.#database, id)) > 0
  }

  async holder(id: string): Promise<Holder | undefined> {
    return (await findRow(this.#database, id)).holder
  }

  async unlock(id: string): Promise<Holder | undefined> {
    if ((await findRow(this.#database, id)).token === undefined) return undefined
    const taken = await take(this.#database, id, { kind: 'writer', purpose: 'unlock' }, { force: true })
    await release(this.#database, taken.row, taken.token)
    // The one it was taken from: another may have come since the look.
    return taken.before.holder
  }

  /** It is out of sight, its id is free, and its rows stay until they are purged. */
  async remove(id: string): Promise<void> {
    await take(this.#database, id, { kind: 'writer', purpose: 'remove' }, { remove: true })
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
    await this.#database.query(sql, id, what).catch(() => {
      // A role that may only read has found the damage, and reports it here and now.
    })
  }

  get transfer(): TransferDriver {
    return {
      read: (id) => pack(this.#database, id),
      write: (transfer, id) => unpack(this.#database, transfer, { id, now: this.#clock.now() }),
    }
  }

  #context(hold: SessionHold, guard: WriteGuard): OpenContext {
    return { database: this.#database, clock: this.#clock, hold, guard }
  }
}
