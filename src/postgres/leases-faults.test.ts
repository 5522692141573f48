import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { PostgresServer } from '../../test/support/postgres.ts'
import { PostgresProxy } from '../../test/support/postgres-proxy.ts'
import { until } from '../../test/support/world.ts'
import { acquireLease } from '../lease/lease.ts'
import type { LeaseStore } from '../lease/register.ts'
import { migrate } from './migrate.ts'
import { postgresLeases } from './leases.ts'

let server: PostgresServer
let database: string
let pool: pg.Pool
let proxy: PostgresProxy
let proxied: pg.Pool
beforeAll(async () => {
  server = await PostgresServer.start()
  database = await server.createDatabase()
  pool = server.pool({ database })
  await migrate({ pool })
})
beforeEach(async () => {
  await pool.query('TRUNCATE stint.register')
  proxy = await PostgresProxy.to(server.directory)
  proxied = server.pool({ database, host: proxy.directory })
})
afterEach(() => proxy[Symbol.asyncDispose]())
afterAll(() => server[Symbol.asyncDispose]())

const swap = ({ register }: LeaseStore, epoch: number, text: string) => register.swap('k', epoch, text)
const read = async ({ register }: LeaseStore, key = 'k') => {
  const { epoch, text } = await register.read(key)
  return { epoch, text }
}
const lease = (store: LeaseStore, sessionId: string, more: object = {}) =>
  acquireLease({ store, resource: 'r', sessionId, ...more })

test.each([
  ['INSERT', 0],
  ['UPDATE', 3],
])('an %s whose answer was lost is known to have won', async (statement, epoch) => {
  const store = postgresLeases({ pool: proxied })
  for (let at = 0; at < epoch; at++) await swap(store, at, `text ${at}`)
  await read(store)
  proxy.strike(statement, 'cut after')
  expect(await swap(store, epoch, 'ours')).toBe(true)
  expect(proxy.faults).toBe(1)
  expect(await read(store)).toEqual({ epoch: epoch + 1, text: 'ours' })
})

test('a swap that never reached the server is lost, and the next one wins', async () => {
  const store = postgresLeases({ pool: proxied })
  await swap(store, 0, 'first')
  proxy.strike('UPDATE', 'cut before')
  expect(await swap(store, 1, 'ours')).toBe(false)
  expect(await swap(store, 1, 'ours again')).toBe(true)
})

test('a swap that never reached the server and was overtaken is not reported as won', async () => {
  const store = postgresLeases({ pool: proxied })
  const other = postgresLeases({ pool })
  await swap(store, 0, 'first')
  proxy.strike('UPDATE', 'cut before')
  const ours = swap(store, 1, 'ours')
  await swap(other, 1, 'theirs')
  expect(await ours).toBe(false)
  expect(await read(store)).toEqual({ epoch: 2, text: 'theirs' })
})

test('a swap does not replace another text of the same epoch, which a server that took over may have', async () => {
  const store = postgresLeases({ pool })
  await swap(store, 0, 'first')
  await read(store)
  // The primary failed before its standby had that text, and the standby gave the epoch to another one.
  await pool.query(`UPDATE stint.register SET text = 'theirs'`)
  expect(await swap(store, 1, 'ours')).toBe(false)
  expect(await read(store)).toEqual({ epoch: 1, text: 'theirs' })
  expect(await swap(store, 1, 'ours')).toBe(true)
})

test.each(['cut before', 'cut after'] as const)(
  'a lease is acquired, refreshed and released although the connection breaks each time (%s)',
  async (kind) => {
    const store = postgresLeases({ pool: proxied })
    proxy.strike('INSERT', kind)
    const mine = await lease(store, 'a')
    proxy.strike('UPDATE', kind)
    expect(await mine.refresh()).toBe(true)
    await expect(lease(postgresLeases({ pool }), 'b')).rejects.toMatchObject({ code: 'LOCK_HELD' })
    proxy.strike('UPDATE', kind)
    expect(await mine.release()).toBe(true)
    expect(proxy.faults).toBe(3)
    expect((await lease(postgresLeases({ pool }), 'b')).fence).toBeGreaterThan(mine.fence)
  },
)

test('a server that does not answer in time is POSTGRES_UNAVAILABLE', async () => {
  const store = postgresLeases({ pool: proxied, timeoutMs: 300 })
  proxy.strike('AS now', 'silence')
  await expect(read(store)).rejects.toMatchObject({
    code: 'POSTGRES_UNAVAILABLE',
    exit: 12,
    retryable: true,
    message: expect.stringContaining('no answer within 300 ms') as string,
  })
})

test('a holder that gets no more answers learns that its lease is lost when the TTL is over', async () => {
  const store = postgresLeases({ pool: proxied, timeoutMs: 600_000 })
  const mine = await lease(store, 'a', { ttlMs: 300 })
  const aborted = new Promise((resolve) => mine.signal.addEventListener('abort', resolve))
  proxy.strike('AS now', 'silence')
  await aborted
  expect(proxy.faults).toBe(1)
  expect(mine.signal.reason).toMatchObject({ code: 'LOCK_LOST' })
  // The lease has expired by the server's clock as well: the next session gets it.
  expect((await lease(postgresLeases({ pool }), 'b', { wait: 60_000 })).fence).toBeGreaterThan(mine.fence)
})

test('a lease whose release failed can be released later, and expires if it is not', async () => {
  const store = postgresLeases({ pool: proxied })
  const unavailable = { code: 'POSTGRES_UNAVAILABLE' }
  const mine = await lease(store, 'a')
  proxy.redirect('/nowhere')
  await expect(mine.release()).rejects.toMatchObject(unavailable)
  proxy.redirect(server.directory)
  expect(await mine.release()).toBe(true)
  const next = await lease(store, 'b', { ttlMs: 500 })
  proxy.redirect('/nowhere')
  await expect(next.release()).rejects.toMatchObject(unavailable)
  const last = await lease(postgresLeases({ pool }), 'c', { wait: 60_000 })
  expect(last.fence).toBeGreaterThan(next.fence)
})

test('while another transaction holds the row, an acquire times out, and its late grant can be released', async () => {
  const store = postgresLeases({ pool })
  await (await lease(store, 'first')).release()
  const { epoch } = await read(store, 'resource:r')
  const blocker = await pool.connect()
  await blocker.query('BEGIN')
  await blocker.query('SELECT 1 FROM stint.register FOR UPDATE')
  const blocked = lease(postgresLeases({ pool, timeoutMs: 1000 }), 'a')
  await expect(blocked).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' })
  await blocker.query('ROLLBACK')
  blocker.release()
  // The server carries the swap out after all: the session has a claim, and can release it.
  while ((await read(store, 'resource:r')).epoch === epoch);
  await expect(lease(store, 'b')).rejects.toMatchObject({ code: 'LOCK_HELD' })
  expect(await (await lease(store, 'a')).release()).toBe(true)
})

test('a pool without a free connection is POSTGRES_UNAVAILABLE', async () => {
  const small = server.pool({ database, max: 1, connectionTimeoutMillis: 500 })
  const store = postgresLeases({ pool: small })
  const taken = await small.connect()
  await expect(read(store)).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE', exit: 12 })
  taken.release()
  await expect(read(store)).resolves.toEqual({ epoch: 0, text: undefined })
})

test('no swap is lost or carried out twice while connections are terminated', async () => {
  const won: number[] = []
  const stop = new AbortController()
  const count = async (name: string): Promise<void> => {
    const store = postgresLeases({ pool: server.pool({ database, max: 2 }) })
    for (let tries = 0; !stop.signal.aborted; tries++) {
      try {
        const { epoch } = await read(store)
        if (await swap(store, epoch, `${name} ${tries}`)) won.push(epoch + 1)
      } catch (error) {
        expect(error).toMatchObject({ code: 'POSTGRES_UNAVAILABLE' })
      }
    }
  }
  const counting = ['a', 'b', 'c', 'd'].map(count)
  let ended = 0
  while (ended < 40 || won.length < 200) {
    const rows = await server.admin(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}' AND pid <> pg_backend_pid()
      ORDER BY random() LIMIT 2`,
    )
    ended += rows.length
    const before = won.length
    await until('a swap wins', () => won.length > before)
  }
  stop.abort()
  await Promise.all(counting)
  const { epoch } = await read(postgresLeases({ pool }))
  // Each epoch was won by one swap, and each winner knows that it has won.
  expect(new Set(won).size).toBe(won.length)
  expect(won.length).toBe(epoch)
})

test('after the clock of the server was set back, time stands still for a key until the clock has caught up', async () => {
  const store = postgresLeases({ pool })
  const mine = await lease(store, 'a', { ttlMs: 60_000 })
  // As if the clock had been set back by an hour since the last write.
  await pool.query(`UPDATE stint.register SET written_at = written_at + interval '1 hour'`)
  const before = (await store.register.read('resource:r')).now.wall
  expect(before).toBeGreaterThan(Date.now() + 3_500_000)
  expect(await mine.refresh()).toBe(true)
  const first = mine.expiresAt
  expect(await mine.refresh()).toBe(true)
  // Each refresh still extends the lease.
  expect(mine.expiresAt).toBeGreaterThan(first)
  await expect(lease(store, 'b')).rejects.toMatchObject({ code: 'LOCK_HELD' })
  expect((await store.register.read('another')).now.wall).toBeLessThan(before)
})

test('a lease that was granted survives a crash of the server, even with synchronous_commit = off', async () => {
  await server.admin(`ALTER SYSTEM SET synchronous_commit = 'off'`)
  await server.admin(`ALTER SYSTEM SET wal_writer_delay = '10s'`)
  await server.kill()
  await server.start()
  await lease(postgresLeases({ pool }), 'a')
  await server.kill()
  await server.start()
  await expect(lease(postgresLeases({ pool }), 'b')).rejects.toMatchObject({ code: 'LOCK_HELD' })
  for (const name of ['synchronous_commit', 'wal_writer_delay'])
    await server.admin(`ALTER SYSTEM RESET ${name}`)
  await server.admin('SELECT pg_reload_conf()')
})

test('a replica can be read but not written; after it takes over, fences go on', async () => {
  const store = postgresLeases({ pool })
  const before = await lease(store, 'a')
  await server.becomeReplica()
  const fresh = postgresLeases({ pool: server.pool({ database }) })
  await expect(lease(fresh, 'a')).rejects.toMatchObject({ code: 'POSTGRES_READ_ONLY', exit: 4 })
  expect(await before.check()).toBe(true)
  await server.promote()
  expect(await before.refresh()).toBe(true)
  expect(await before.release()).toBe(true)
  const after = await lease(fresh, 'b')
  expect(after.fence).toBeGreaterThan(before.fence)
  const [first, second] = [await lease(fresh, 'b'), await (await lease(fresh, 'b')).release()]
  expect([first.fence, second]).toEqual([after.fence, true])
})
