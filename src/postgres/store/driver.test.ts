import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { storeConformance } from '../../testing/store-conformance.ts'
import type { StorePlace } from '../../testing/conformance-case.ts'
import { migrate } from '../migrate.ts'
import type { PostgresPool } from '../pool.ts'
import { postgresStore } from './driver.ts'

let server: PostgresServer
let database: string
beforeAll(async () => {
  server = await PostgresServer.start()
  database = await server.createDatabase()
  await migrate({ pool: server.pool({ database }) })
})
afterAll(() => server[Symbol.asyncDispose]())

const pools = new Map<string, PostgresPool>()
const tables = ['session', 'journal', 'audit', 'revision', 'blob', 'snapshot', 'state', 'spool']

/** Deletes all sessions and returns the place for a case. */
async function makePlace(name: string, make: () => PostgresPool): Promise<StorePlace> {
  const pool = pools.get(name) ?? make()
  pools.set(name, pool)
  await server.admin(tables.map((table) => `DELETE FROM stint.${table};`).join(''), database)
  return {
    open: () => postgresStore({ pool }),
    disown: async (id) =>
      void (await pool.query(`UPDATE stint.session SET store = 'other' WHERE id = $1`, [id])),
    addToManifest: async (id, key, value) =>
      void (await pool.query(
        `UPDATE stint.session SET manifest = (manifest::jsonb || jsonb_build_object($2::text, $3::jsonb))::text WHERE id = $1`,
        [id, key, JSON.stringify(value)],
      )),
  }
}

const make = (config: pg.PoolConfig) => (): PostgresPool => server.pool({ database, ...config })

/** Like a pooler in transaction mode: each statement uses another connection. */
function rotatingPool(): PostgresPool {
  const connections = Array.from({ length: 4 }, () => server.pool({ database, max: 1 }))
  let turn = 0
  const next = (): pg.Pool => connections[(turn += 1) % connections.length] as pg.Pool
  return { query: (sql, values) => next().query(sql, values), connect: () => next().connect() }
}

describe.each<[string, () => PostgresPool]>([
  ['PostgreSQL', make({})],
  ['PostgreSQL, with another connection for each statement', rotatingPool],
  [
    'PostgreSQL, with one connection for all, where transactions are serializable',
    make({ max: 1, options: '-c default_transaction_isolation=serializable' }),
  ],
])('sessions in %s', (name, make) => {
  test.each(storeConformance(() => makePlace(name, make)))('$title', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined()
  })
})
