import { type Clock, systemClock } from '../../base/process/clock.ts'
import type {
  HeldSession,
  Hold,
  ReadableSession,
  SpoolEntry,
  StoreDriver,
  WriteGuard,
} from '../../session/driver.ts'
import { emptyLogEnds } from '../../session/log/index.ts'
import type { Manifest } from '../../session/manifest.ts'
import type { SessionTransfer } from '../../session/transfer.ts'
import type { Holder, ListOptions, SessionSummary } from '../../session/store.ts'
import { checkSessionId, sessionExists } from '../../session/session-id.ts'
import { createStatement } from './create-statement.ts'
import { Database, type DatabaseOptions } from './database.ts'
import { forkRows } from './fork.ts'
import { newClaim, release, take } from './session-hold.ts'
import { type OpenContext, openNew, openTaken } from './open-session.ts'
import { type Arrival, pack, unpack } from './transfer.ts'
import { ReadableRows } from './readable-session.ts'
import { findRow, postgresId, readManifest, rowOf, selectRows } from './session-row.ts'
import { countWaiting, leave } from './spool.ts'
import { summaryOf } from './summary.ts'

export interface PostgresDriverOptions extends DatabaseOptions {
  clock?: Clock
}

/** Sessions in PostgreSQL. */
export class PostgresDriver implements StoreDriver {
  readonly id = postgresId
  readonly #database: Database
  readonly #clock: Clock

  constructor({ clock = systemClock, ...options }: PostgresDriverOptions) {
    this.#database = new Database(options)
    this.#clock = clock
  }

  async create(manifest: Manifest, hold: Hold, guard: WriteGuard): Promise<HeldSession> {
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
    // A server that is not there is not insisted on.
    await database.ready()
    await database.insist(() => database.query(...statement))
    const [row] = await database.insist(() => database.query(selectRows('id = $1'), id))
    // What is there with our token is ours, whichever try has made it.
    if (row === undefined || row.token !== claim.token) throw sessionExists(id)
    return openNew(this.#context(hold, guard), rowOf(row), claim.token, manifest)
  }

  async open(id: string, hold: Hold, guard: WriteGuard): Promise<HeldSession> {
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

  async fork(
    from: string,
    at: number | undefined,
    id: string,
    manifestAt: (seq: number) => Manifest,
  ): Promise<void> {
    checkSessionId(id)
    await forkRows(this.#database, from, at, manifestAt)
  }

  async spool(id: string, entries: readonly SpoolEntry[]): Promise<void> {
    checkSessionId(id)
    await leave(this.#database, id, entries)
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

  /** The ids of sessions that begin like this, with or without `ses_`; without a beginning all of them. */
  async idsFrom(beginning = ''): Promise<string[]> {
    const rows = await this.#database.query(
      `SELECT id FROM stint.session WHERE removed_at IS NULL AND store = $2 AND (starts_with(id, $1) OR starts_with(id, 'ses_' || $1)) ORDER BY id`,
      beginning,
      postgresId,
    )
    return rows.map(({ id }) => String(id))
  }

  /** So that a list shows it, and nothing more is written until it is put right. */
  async noteDamage(id: string, what: string): Promise<void> {
    await this.#database.query(
      'UPDATE stint.session SET damage = coalesce(damage, $2) WHERE id = $1 AND removed_at IS NULL',
      id,
      what,
    )
  }

  /** How many entries visitors have left that nobody has taken in yet. */
  async waiting(id: string): Promise<number> {
    return await countWaiting(this.#database, id)
  }

  /** A session to be taken to another store, and one that comes from there. */
  async pack(id: string): Promise<SessionTransfer> {
    return await pack(this.#database, id)
  }

  async unpack(parcel: SessionTransfer, arrival: Arrival): Promise<string> {
    return await unpack(this.#database, parcel, arrival)
  }

  #context(hold: Hold, guard: WriteGuard): OpenContext {
    return { database: this.#database, clock: this.#clock, hold, guard }
  }
}
