import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PostgresServer } from '../../test/support/postgres.ts'
import { until } from '../../test/support/world.ts'
import { wholeWorkspace } from '../lease/claim.ts'
import { acquireLease } from '../lease/lease.ts'
import { leaseStatus } from '../lease/lease-status.ts'
import { WorkspaceClaims } from '../lease/workspace-claims.ts'
import { registerConformance } from '../testing/register-conformance.ts'
import { migrate } from './migrate.ts'
import { postgresLeases } from './leases.ts'
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
  test.each(registerConformance(async () => postgresLeases({ pool: await open(config) }).register))(
    '$title',
    async ({ run }) => {
      await expect(run()).resolves.toBeUndefined()
    },
  )
})

test('waiters are seen while they wait, and each gets the lease', async () => {
  const store = postgresLeases({ pool: await open() })
  const on = { store, resource: 'deploy' }
  const holder = await acquireLease({ ...on, sessionId: 'a' })
  const names = ['b', 'c', 'd']
  const waiting = names.map(async (sessionId) =>
    (await acquireLease({ ...on, sessionId, wait: '1m' })).release(),
  )
  const waiters = async () => (await leaseStatus(on)).waiters.map(({ sessionId }) => sessionId)
  await until('all wait', async () => (await waiters()).length === names.length)
  expect((await waiters()).sort()).toEqual(names)
  await expect(acquireLease({ ...on, sessionId: 'e' })).rejects.toThrow('3 sessions wait for it')
  await holder.release()
  expect(await Promise.all(waiting)).toEqual([true, true, true])
  expect(await waiters()).toEqual([])
})

test('fences grow although the rows of the first grants were lost, as in a failover to a late replica', async () => {
  const pool = await open()
  const store = postgresLeases({ pool })
  const fences: number[] = []
  for (const isLost of [false, false, true, false]) {
    if (isLost) await pool.query('DELETE FROM stint.register')
    const lease = await acquireLease({ store, resource: 'deploy', sessionId: 'a' })
    fences.push(lease.fence)
    await lease.release()
  }
  expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b))
})

test('a purge removes the claims of sessions that are gone, and their fences never come again', async () => {
  const pool = await open()
  const store = postgresLeases({ pool })
  const held = await acquireLease({ store, resource: 'held', sessionId: 'a' })
  // Without a lease, which would renew the claim.
  const { answer: gone } = await WorkspaceClaims.open(store, { resource: 'gone' }).acquire({
    sessionId: 'a',
    holder: null,
    paths: wholeWorkspace,
    mode: 'exclusive',
    forMs: 1,
  })
  await until('it is over', async () => (await leaseStatus({ store, resource: 'gone' })).isFree)
  expect((await purge({ pool })).claims).toBe(1)
  expect((await purge({ pool })).claims).toBe(0)
  expect(await held.check()).toBe(true)
  const again = await acquireLease({ store, resource: 'gone', sessionId: 'b' })
  expect(again.fence).toBeGreaterThan(gone.claim.fence)
  await Promise.all([held.release(), again.release()])
})

test('a lease is on any text, and its status says who holds it', async () => {
  const store = postgresLeases({ pool: await open() })
  for (const resource of ['a row of "orders"', '🧵'.repeat(1024)]) {
    const lease = await acquireLease({ store, resource, sessionId: 'a', pid: null })
    await expect(acquireLease({ store, resource, sessionId: 'b' })).rejects.toMatchObject({
      code: 'LOCK_HELD',
    })
    expect(await leaseStatus({ store, resource })).toMatchObject({
      workspace: resource,
      isFree: false,
      claims: [{ sessionId: 'a', fence: lease.fence }],
    })
    await lease.release()
    expect((await leaseStatus({ store, resource })).isFree).toBe(true)
  }
})
