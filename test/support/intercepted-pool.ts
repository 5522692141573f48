import type pg from 'pg'
import type { PostgresPool, SqlRow } from '../../src/postgres/pool.ts'

type Answer = Promise<{ rows: SqlRow[] }>

/** A pool that gives each statement to `intercept`, together with a function that carries it out. */
export function interceptedPool(
  pool: pg.Pool,
  intercept: (sql: string, run: (sql: string) => Answer) => Answer,
): PostgresPool {
  const query =
    (on: pg.Pool | pg.PoolClient) =>
    (sql: string, values?: unknown[]): Answer =>
      intercept(sql, (changed) => on.query<SqlRow>(changed, values))
  return {
    query: query(pool),
    connect: (callback) =>
      pool.connect((error, client) => {
        if (client === undefined) return callback(error, undefined)
        callback(undefined, {
          query: query(client),
          release: (reason) => client.release(reason),
          on: (event, listener) => client.on(event, listener),
          removeListener: (event, listener) => client.removeListener(event, listener),
        })
      }),
  }
}
