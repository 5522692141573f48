import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { PostgresServer } from '../../test/support/postgres.ts'
import { acquireLease } from '../lease/lease.ts'
import type { LeaseStore } from '../lease/register.ts'
import { WorkspaceClaims } from '../lease/workspace-claims.ts'
import { migrate } from './migrate.ts'
import { postgresLeases } from './leases.ts'

let server: PostgresServer
let pool: pg.Pool
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())
beforeEach(async () => {
  pool = server.pool({ database: await server.createDatabase() })
  await migrate({ pool })
})

const resource = 'deploy:prod'
const open = (): LeaseStore => postgresLeases({ pool })

const kinds = async (store = open()): Promise<string[]> => {
  const { activity } = WorkspaceClaims.open(store, { resource })
  return (await activity.read()).map(({ kind, session_id }) => `${kind} ${session_id}`)
}

test('other processes see the history of a lease on a server', async () => {
  const store = open()
  const lease = await acquireLease({ store, resource, sessionId: 'a', purpose: 'version 2' })
  await expect(acquireLease({ store: open(), resource, sessionId: 'b' })).rejects.toThrow('held by a')
  await expect(acquireLease({ store: open(), resource, sessionId: 'b' })).rejects.toThrow('held by a')
  await lease.release()
  const all = ['grant a', 'refusal b', 'release a']
  // The process that released it knows when its last line is written.
  expect(await kinds(store)).toEqual(all)
  expect(await kinds()).toEqual(all)
})

test('a server keeps the last 1,000 lines of each lease', async () => {
  const { activity } = open()
  const old = Array.from({ length: 1500 }, (_, i) => `old ${i}`)
  activity.append('k', () => old)
  activity.append('other', () => ['one'])
  await activity.read('k')
  activity.append('k', () => ['new'])
  expect((await activity.read('k')).at(-1)).toBe('new')
  const { rows } = await pool.query(
    'SELECT key, count(*)::int AS lines FROM stint.activity GROUP BY key ORDER BY key',
  )
  expect(rows).toEqual([
    { key: 'k', lines: 1000 },
    { key: 'other', lines: 1 },
  ])
})

test('leases work without a history for a role that may not write it', async () => {
  const role = `guest_${Date.now()}`
  await pool.query(`CREATE ROLE ${role} LOGIN PASSWORD 'guest-password'`)
  await pool.query(`GRANT USAGE ON SCHEMA stint TO ${role}`)
  await pool.query(`GRANT SELECT ON stint.migration TO ${role}`)
  await pool.query(`GRANT SELECT, INSERT, UPDATE ON stint.register TO ${role}`)
  const { rows } = await pool.query('SELECT current_database() AS database')
  const { database } = rows[0] as { database: string }
  const guest = server.pool({ database, user: role, password: 'guest-password' })
  const store = postgresLeases({ pool: guest })
  const lease = await acquireLease({ store, resource, sessionId: 'a' })
  await expect(acquireLease({ store, resource, sessionId: 'b' })).rejects.toThrow('held by a')
  await lease.release()
  expect(await kinds(store)).toEqual([])
})
