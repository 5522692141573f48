import { createStore, type SessionStore } from '../../session/index.ts'
import { PostgresDriver, type PostgresDriverOptions } from './driver.ts'

export type PostgresStoreOptions = PostgresDriverOptions

/**
 * Sessions in PostgreSQL, for more than one machine: the same as in files, through the same calls.
 *
 * @example
 * const store = postgresStore({ pool: new pg.Pool({ connectionString }) })
 * await using session = await store.create({ tool: 'my-agent' })
 */
export const postgresStore = (options: PostgresStoreOptions): SessionStore =>
  createStore(new PostgresDriver(options), options.clock)
