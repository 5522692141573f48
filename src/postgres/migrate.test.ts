import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { interceptedPool } from '../../test/support/intercepted-pool.ts'
import { PostgresServer } from '../../test/support/postgres.ts'
import { migrate } from './migrate.ts'
import { migrationScript, schemaVersion as version } from './schema.ts'
import { postgresLeases } from './leases.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

/** Every column of the schema. */
const catalog = async (database: string) =>
  await server.admin(
    `SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
    WHERE table_schema = 'stint' ORDER BY table_name, ordinal_position`,
    database,
  )

test('the first migration creates the schema, and the second has nothing to do', async () => {
  const pool = server.pool({ database: await server.createDatabase() })
  expect(await migrate({ pool })).toEqual({ created: true, version })
  expect(await migrate({ pool })).toEqual({ created: false, version })
  const { rows } = await pool.query('SELECT version FROM stint.migration')
  expect(rows).toEqual([{ version }])
})

test('of twenty migrations at once, one makes the changes and none fails', async () => {
  const database = await server.createDatabase()
  const pools = Array.from({ length: 20 }, () => server.pool({ database, max: 1 }))
  const reports = await Promise.all(pools.map((pool) => migrate({ pool })))
  expect(reports.filter(({ created }) => created)).toHaveLength(1)
})

test('the SQL script creates the same schema as the migration, and changes nothing the second time', async () => {
  const [migrated, scripted] = [await server.createDatabase(), await server.createDatabase()]
  await migrate({ pool: server.pool({ database: migrated }) })
  await server.admin(migrationScript(), scripted)
  expect(await catalog(scripted)).toEqual(await catalog(migrated))
  expect(await catalog(scripted)).not.toEqual([])
  await server.admin(migrationScript(), scripted)
  expect(await catalog(scripted)).toEqual(await catalog(migrated))
  const pool = server.pool({ database: scripted })
  expect(await migrate({ pool })).toEqual({ created: false, version })
})

test('a migration that fails leaves nothing behind, and the next one starts over', async () => {
  const database = await server.createDatabase()
  const real = server.pool({ database })
  const broken = interceptedPool(real, (sql, run) => run(sql.startsWith('INSERT') ? 'SELECT 1 / 0' : sql))
  await expect(migrate({ pool: broken })).rejects.toThrow('division by zero')
  expect(await catalog(database)).toEqual([])
  expect(await migrate({ pool: real })).toEqual({ created: true, version })
})

const use = (pool: pg.Pool) => postgresLeases({ pool }).register.read('k')

test('a missing schema is an error that says how to create it', async () => {
  const pool = server.pool({ database: await server.createDatabase() })
  const hint = expect.stringContaining('stint postgres migrate') as string
  await expect(use(pool)).rejects.toMatchObject({ code: 'POSTGRES_SCHEMA', exit: 4, hint })
  await migrate({ pool })
  await pool.query('DELETE FROM stint.migration')
  await expect(use(pool)).rejects.toMatchObject({ code: 'POSTGRES_SCHEMA', hint })
  expect(await migrate({ pool })).toEqual({ created: true, version })
  await expect(use(pool)).resolves.toMatchObject({ epoch: 0, text: undefined })
})

test.each([
  ['older', version - 1, 'Use a new schema'],
  ['newer', version + 1, 'Install a newer version of stint.'],
])('a schema that is %s is refused, and not changed', async (_, other, advice) => {
  const database = await server.createDatabase()
  const pool = server.pool({ database })
  await migrate({ pool })
  await pool.query('UPDATE stint.migration SET version = $1', [other])
  const before = await catalog(database)
  const refusal = { code: 'POSTGRES_SCHEMA', exit: 4, hint: expect.stringContaining(advice) as string }
  await expect(use(pool)).rejects.toMatchObject(refusal)
  await expect(migrate({ pool })).rejects.toMatchObject(refusal)
  expect(await catalog(database)).toEqual(before)
  const { rows } = await pool.query('SELECT version FROM stint.migration')
  expect(rows).toEqual([{ version: other }])
})

test('a role that may not create a schema is denied, but can learn that there is nothing to do', async () => {
  const database = await server.createDatabase()
  await server.admin(`CREATE ROLE visitor LOGIN PASSWORD 'visitor-password'`)
  const visitor = server.pool({ database, user: 'visitor', password: 'visitor-password' })
  await expect(migrate({ pool: visitor })).rejects.toMatchObject({ code: 'POSTGRES_DENIED', exit: 7 })
  await migrate({ pool: server.pool({ database }) })
  await server.admin(
    'GRANT USAGE ON SCHEMA stint TO visitor; GRANT SELECT ON stint.migration TO visitor',
    database,
  )
  expect(await migrate({ pool: visitor })).toEqual({ created: false, version })
})
