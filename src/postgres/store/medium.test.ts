import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectRefusedWith, noTimes } from '../../../test/support/odd-clocks.ts'
import { PostgresServer } from '../../../test/support/postgres.ts'
import type { Clock } from '../../base/process/clock.ts'
import type { SessionStore } from '../../session/index.ts'
import { storeCases } from '../../../test/support/store-cases/index.ts'
import type { OpenMedium } from '../../testing/conformance-case.ts'
import { ulid } from '../../base/text/id.ts'
import { migrate } from '../migrate.ts'
import type { PostgresPool } from '../pool.ts'
import { PostgresMedium, postgresStore } from './medium.ts'

let server: PostgresServer
let database: string
beforeAll(async () => {
  server = await PostgresServer.start()
  database = await server.createDatabase()
  await migrate({ pool: server.pool({ database }) })
})
afterAll(() => server[Symbol.asyncDispose]())

const pools = new Map<string, PostgresPool>()
const tables = ['session', 'journal', 'audit', 'revision', 'blob', 'state']

/** Deletes all sessions and returns the place for a case. */
async function makePlace(name: string, make: () => PostgresPool): Promise<OpenMedium> {
  const pool = pools.get(name) ?? make()
  pools.set(name, pool)
  await server.admin(tables.map((table) => `DELETE FROM stint.${table};`).join(''), database)
  return () => new PostgresMedium({ pool })
}

const make = (config: pg.PoolConfig) => (): PostgresPool => server.pool({ database, ...config })

/** Like a pooler in transaction mode: each statement uses another connection. */
function rotatingPool(): PostgresPool {
  const connections = Array.from({ length: 4 }, () => server.pool({ database, max: 1 }))
  let turn = 0
  const next = (): pg.Pool => connections[(turn += 1) % connections.length] as pg.Pool
  return {
    query: (sql, values) => next().query(sql, values),
    connect: (callback) => next().connect(callback),
  }
}

describe.each<[string, () => PostgresPool]>([
  ['PostgreSQL', make({})],
  ['PostgreSQL, with another connection for each statement', rotatingPool],
  [
    'PostgreSQL, with one connection for all, where transactions are serializable',
    make({ max: 1, options: '-c default_transaction_isolation=serializable' }),
  ],
])('sessions in %s', (name, make) => {
  test.each(storeCases(() => makePlace(name, make)))('$title', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined()
  })
})

test('times are right for a role with few digits in floating-point numbers', async () => {
  const pool = server.pool({ database, options: '-c extra_float_digits=-15' })
  const store = postgresStore({ pool })
  const before = Date.now()
  const session = await store.create({ id: 'digits' })
  const { at } = await session.append({ type: 'note' })
  await session.close()
  const { summary } = await store.inspect('digits')
  expect(summary.lastAt).toBe(at)
  expect(summary.createdAt).toBeGreaterThanOrEqual(before)
})

test('a purged session leaves no row in any table', async () => {
  const pool = server.pool({ database })
  const store = postgresStore({ pool })
  const session = await store.create({ id: 'purged' })
  await session.append([{ type: 'note', data: 'x'.repeat(300_000) }, { type: 'note' }])
  await session.slot('s', { version: '1', initial: 0 }).set(1)
  await session.act({ action: 'pay' }, () => 1)
  await session.snapshot()
  const { rows } = await pool.query("SELECT key FROM stint.session WHERE id = 'purged'")
  await session.close()
  await store.remove('purged', { purge: true })
  const tables = ['journal', 'audit', 'revision', 'blob', 'state']
  for (const table of tables) {
    const left = await pool.query(`SELECT 1 FROM stint.${table} WHERE session = $1`, [rows[0]?.key])
    expect(left.rows, table).toEqual([])
  }
  expect((await pool.query("SELECT 1 FROM stint.session WHERE id = 'purged'")).rows).toEqual([])
})

test('no row has a secret that the purpose of a visit contains when it creates the session', async () => {
  const pool = server.pool({ database })
  const value = `planted-${ulid()}`
  process.env.STINT_PLANTED = value
  const create = { secrets: [{ kind: 'env' as const, name: 'STINT_PLANTED' }] }
  try {
    await postgresStore({ pool }).visit(
      'planted',
      async (visit) => {
        await visit.append({ type: 'note', data: value })
        for (const table of tables) {
          const { rows } = await pool.query(
            `SELECT row_to_json(each)::text AS row FROM stint.${table} AS each`,
          )
          expect(
            rows.filter(({ row }) => String(row).includes(value)),
            table,
          ).toEqual([])
        }
      },
      { create, purpose: `use ${value}` },
    )
  } finally {
    delete process.env.STINT_PLANTED
  }
})

describe('sessions in PostgreSQL, with a clock of the program', () => {
  const storeWith = (clock: Clock): SessionStore =>
    postgresStore({ pool: pools.get('clocks') as PostgresPool, clock })

  test.each(noTimes)('refuse a record while it returns %s', async (_, time) => {
    await makePlace('clocks', make({}))
    await expect(expectRefusedWith(time, storeWith)).resolves.toBeUndefined()
  })
})
