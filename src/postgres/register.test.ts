import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PostgresServer } from '../../test/support/postgres.ts'
import { orderOfGrants } from '../../test/support/waiting-order.ts'
import { acquireLease } from '../lease/lease.ts'
import { leaseStatus } from '../lease/lease-status.ts'
import type { Register } from '../lease/register.ts'
import { registerConformance } from '../testing/register-conformance.ts'
import { migrate } from './migrate.ts'
import { postgresRegister } from './register.ts'
import { purge } from './store/purge.ts'

let server: PostgresServer
let database: string
beforeAll(async () => {
  server = await PostgresServer.start()
  database = await server.createDatabase()
  await migrate({ pool: server.pool({ database }) })
})
afterAll(() => server[Symbol.asyncDispose]())

const pools = new Map<string, pg.Pool>()

/** Empties the register and returns a pool for it. */
async function open(config: pg.PoolConfig = {}): Promise<pg.Pool> {
  const name = JSON.stringify(config)
  const pool = pools.get(name) ?? server.pool({ database, ...config })
  pools.set(name, pool)
  await pool.query('TRUNCATE stint.register, stint.waiter')
  return pool
}

/** Like a pooler in transaction mode: each statement uses another connection. */
const oneUse = { maxUses: 1 }
const serializable = { options: '-c default_transaction_isolation=serializable' }

describe.each<[string, pg.PoolConfig]>([
  ['PostgreSQL', {}],
  ['PostgreSQL, with another connection for each statement', oneUse],
  ['PostgreSQL, with one connection for all', { max: 1 }],
  ['PostgreSQL, where transactions are serializable', serializable],
])('a register in %s', (_, config) => {
  test.each(registerConformance(async () => postgresRegister({ pool: await open(config) }) as Register))(
    '$title',
    async ({ run }) => {
      await expect(run()).resolves.toBeUndefined()
    },
  )
})

test('waiters get a lease on a server in the order in which they came', async () => {
  const register = postgresRegister({ pool: await open() }) as Register
  expect(await orderOfGrants(register, 4)).toEqual(['waiter-0', 'waiter-1', 'waiter-2', 'waiter-3'])
})

test('a lease can be waited for where the schema has no table of waiters yet', async () => {
  const pool = await open()
  await pool.query('ALTER TABLE stint.waiter RENAME TO hidden')
  try {
    const on = { register: postgresRegister({ pool }) as Register, resource: 'deploy' }
    const holder = await acquireLease({ ...on, sessionId: 'a' })
    const waiting = acquireLease({ ...on, sessionId: 'b', wait: '1m' })
    await holder.release()
    expect(await (await waiting).release()).toBe(true)
  } finally {
    await pool.query('ALTER TABLE stint.hidden RENAME TO waiter')
  }
})

test('fences grow although the rows of the first grants were lost, as in a failover to a late replica', async () => {
  const pool = await open()
  const register = postgresRegister({ pool }) as Register
  const fences: number[] = []
  for (const isLost of [false, false, true, false]) {
    if (isLost) await pool.query('DELETE FROM stint.register')
    const lease = await acquireLease({ register, resource: 'deploy', sessionId: 'a' })
    fences.push(lease.fence)
    await lease.release()
  }
  expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b))
})

test('a purge deletes leases that nobody holds or has used for long, and their fences never come again', async () => {
  const pool = await open()
  const register = postgresRegister({ pool }) as Register
  const held = await acquireLease({ register, resource: 'held', sessionId: 'a', ttlMs: 30 * 86_400_000 })
  const used = await acquireLease({ register, resource: 'used', sessionId: 'a' })
  await used.release()
  expect((await purge({ pool, olderThanMs: 0 })).leases).toBe(0)
  await pool.query(`UPDATE stint.register SET written_at = written_at - interval '8 days'`)
  expect((await purge({ pool })).leases).toBe(0)
  expect((await purge({ pool, olderThanMs: 0 })).leases).toBe(1)
  expect(await held.check()).toBe(true)
  const again = await acquireLease({ register, resource: 'used', sessionId: 'b' })
  expect(again.fence).toBeGreaterThan(used.fence)
  await Promise.all([held.release(), again.release()])
})

test('a lease is on any text, and its status says who holds it', async () => {
  const register = postgresRegister({ pool: await open() }) as Register
  for (const resource of ['a row of "orders"', '🧵'.repeat(1024)]) {
    const lease = await acquireLease({ register, resource, sessionId: 'a', pid: null })
    await expect(acquireLease({ register, resource, sessionId: 'b' })).rejects.toMatchObject({
      code: 'LOCK_HELD',
    })
    expect(await leaseStatus({ register, resource })).toMatchObject({
      workspace: resource,
      isFree: false,
      claims: [{ sessionId: 'a', fence: lease.fence }],
    })
    await lease.release()
    expect((await leaseStatus({ register, resource })).isFree).toBe(true)
  }
})
