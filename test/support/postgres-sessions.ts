import type pg from 'pg'
import { migrate } from '../../src/postgres/migrate.ts'
import { postgresStore, type PostgresStoreOptions } from '../../src/postgres/store/medium.ts'
import type { SessionStore } from '../../src/session/store.ts'
import { PostgresProxy } from './postgres-proxy.ts'
import type { PostgresServer } from './postgres.ts'

/** A database for sessions, which can be reached directly and through a proxy that injects faults. */
export class PostgresSessions implements AsyncDisposable {
  readonly database: string
  readonly pool: pg.Pool
  readonly proxy: PostgresProxy
  readonly proxied: pg.Pool
  readonly store: SessionStore

  constructor(server: PostgresServer, database: string, pool: pg.Pool, proxy: PostgresProxy) {
    this.database = database
    this.pool = pool
    this.proxy = proxy
    this.proxied = server.pool({ database, host: proxy.directory })
    this.store = postgresStore({ pool })
  }

  static async on(server: PostgresServer): Promise<PostgresSessions> {
    const database = await server.createDatabase()
    const pool = server.pool({ database })
    await migrate({ pool })
    return new PostgresSessions(server, database, pool, await PostgresProxy.to(server.directory))
  }

  /** Deletes all sessions: faster than another database. */
  async clear(): Promise<void> {
    const tables = ['session', 'journal', 'audit', 'revision', 'blob', 'state']
    await this.pool.query(tables.map((table) => `DELETE FROM stint.${table};`).join(''))
    this.proxy.faults = 0
  }

  /** A store that connects through the proxy. */
  storeOver(options: Partial<PostgresStoreOptions> = {}): SessionStore {
    return postgresStore({ pool: this.proxied, ...options })
  }

  async sql(text: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
    return (await this.pool.query<Record<string, unknown>>(text, values)).rows
  }

  /** The data of each event of a session, in order. */
  async data(id: string): Promise<unknown[]> {
    const data: unknown[] = []
    for await (const event of (await this.store.inspect(id)).events()) data.push(event.data)
    return data
  }

  /** True if verification finds no damage. */
  async isWhole(id: string): Promise<boolean> {
    return (await (await this.store.inspect(id)).health()).ok
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy[Symbol.asyncDispose]()
  }
}
