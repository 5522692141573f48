import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PostgresProxy } from '../../test/support/postgres-proxy.ts'
import { PostgresServer } from '../../test/support/postgres.ts'
import { until } from '../../test/support/world.ts'
import { acquireLease } from '../lease/lease.ts'
import { newManifest, revised } from '../session/manifest.ts'
import { forkSession } from '../session/copy-session.ts'
import { migrate } from './migrate.ts'
import { postgresLeases } from './leases.ts'
import { PostgresMedium, postgresStore } from './store/medium.ts'

let primary: PostgresServer
let standby: PostgresServer
let proxy: PostgresProxy
let database: string
let pool: pg.Pool
beforeAll(async () => {
  primary = await PostgresServer.start()
  standby = await PostgresServer.standbyOf(primary)
  database = await primary.createDatabase()
  proxy = await PostgresProxy.to(primary.directory)
  pool = primary.pool({ database, host: proxy.directory, max: 20 })
  await migrate({ pool })
})
afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await standby[Symbol.asyncDispose]()
  await primary[Symbol.asyncDispose]()
})

const lease = (from: pg.Pool, resource: string, sessionId: string) =>
  acquireLease({ store: postgresLeases({ pool: from, timeoutMs: 60_000 }), resource, sessionId })

/** How many commits wait for the standby, of statements that were sent after this time of the server. */
async function countWaiting(since = '-infinity'): Promise<number> {
  const [row] = await primary.admin(
    `SELECT count(*)::int AS count FROM pg_stat_activity
    WHERE wait_event = 'SyncRep' AND datname = '${database}' AND query_start > '${since}'`,
  )
  return Number(row?.count)
}

const patient = { timeoutMs: 60_000, patienceMs: 60_000 }

/** Every kind of change to sessions and leases whose names begin with `name`. */
async function prepareChanges(name: string): Promise<Record<string, () => Promise<unknown>>> {
  const store = postgresStore({ pool, ...patient })
  const driver = new PostgresMedium({ pool, ...patient })
  const create = (what: string) => store.create({ id: `${name}-${what}` })
  const closed = async (what: string): Promise<string> => {
    const session = await create(what)
    await session.close()
    return session.id
  }
  const open = async (id: string) => {
    const held = await driver.open(id, { kind: 'writer' })
    const empty = { end: { seq: 0, sum: '' }, segment: '', offset: 0, torn: [] }
    await held.begin({ journal: empty, audit: empty })
    return held
  }
  const [appended, annotated] = [await create('appended'), await create('annotated')]
  const released = await open(await closed('released'))
  const [resumed, removed, forked] = [
    await closed('resumed'),
    await closed('removed'),
    await closed('forked'),
  ]
  const fork = newManifest(`${name}-fork`, driver.id, Date.now())
  return {
    create: () => create('created'),
    append: () => appended.append({ type: 'note', data: 'acknowledged' }),
    annotate: () => annotated.annotate({ title: 'acknowledged' }),
    release: () => released.release(),
    resume: () => open(resumed),
    remove: () => driver.remove(removed, {}),
    fork: () => forkSession(driver, forked, undefined, revised(fork, Date.now(), { kind: 'fork' })),
    lease: () => lease(pool, `${name}-lease`, 'mine'),
  }
}

/** Checks on a server that it has everything that was acknowledged. */
async function assertChanged(server: PostgresServer, name: string): Promise<void> {
  const at = server.pool({ database })
  const store = postgresStore({ pool: at })
  const ids = (await store.list()).map(({ id }) => id).filter((id) => id.startsWith(`${name}-`))
  const kinds = ['created', 'appended', 'annotated', 'released', 'resumed', 'forked', 'fork']
  expect(ids.toSorted()).toEqual(kinds.map((kind) => `${name}-${kind}`).toSorted())
  const summary = async (what: string) => (await store.inspect(`${name}-${what}`)).summary
  expect(await summary('appended')).toMatchObject({ records: 1 })
  expect(await summary('annotated')).toMatchObject({ title: 'acknowledged' })
  expect(await summary('released')).toMatchObject({ holder: undefined })
  expect(await summary('resumed')).toMatchObject({ holder: { process: { pid: process.pid } } })
  if (name === 'failover') return
  await expect(lease(at, `${name}-lease`, 'other')).rejects.toMatchObject({ code: 'LOCK_HELD' })
}

test.each([
  ['its connection is terminated while it waits', 'terminate'],
  ['its wait is cancelled, and the server reports success with a warning', 'cancel'],
])('no change is acknowledged before the synchronous standby has it, even if %s', async (_, how) => {
  const { early, all } = await interruptChanges(await prepareChanges(how), how)
  await standby.start()
  await all
  await primary.requireStandby(false)
  expect(early).toEqual([])
})

/**
 * Starts changes while the standby is away, and ends their wait for it. Returns when each was acknowledged,
 * or waits again.
 */
async function interruptChanges(
  changes: Record<string, () => Promise<unknown>>,
  how: string,
): Promise<{ early: string[]; all: Promise<unknown> }> {
  const count = Object.keys(changes).length
  await primary.requireStandby()
  await standby.kill()
  const acknowledged: string[] = []
  const all = Promise.all(
    Object.entries(changes).map(async ([name, change]) => {
      await change()
      acknowledged.push(name)
    }),
  )
  await until('every change waits for the standby', async () => (await countWaiting()) === count)
  const [{ now } = {}] = await primary.admin(
    `SELECT clock_timestamp()::text AS now, pg_${how}_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`,
  )
  // The server has committed all of them on its own. Each is found there, and then waits for the standby.
  await until(
    'every change waits again',
    async () => (await countWaiting(String(now))) + acknowledged.length >= count,
  )
  return { early: [...acknowledged], all }
}

// From here on, the standby is the primary.
test('a standby that takes over has everything that was acknowledged, and what it lacks is done there before it is acknowledged', async () => {
  // The register looks for a lost swap for five seconds; a failover of busy servers may take longer.
  const { lease: _, ...changes } = await prepareChanges('failover')
  const { all } = await interruptChanges(changes, 'terminate')
  await primary.kill()
  await standby.start()
  await standby.promote()
  proxy.redirect(standby.directory)
  await all
  for (const how of ['terminate', 'cancel', 'failover'])
    await expect(assertChanged(standby, how)).resolves.toBeUndefined()
})

test('a standby that takes over gives higher fences, even for a key that it never saw', async () => {
  await using late = await PostgresServer.standbyOf(standby)
  await late.kill()
  const fences: number[] = []
  for (let n = 0; n < 3; n++) {
    const mine = await lease(standby.pool({ database }), 'never-seen', 'mine')
    fences.push(mine.fence)
    await mine.release()
  }
  await standby.kill()
  await late.start()
  await late.promote()
  const next = await lease(late.pool({ database }), 'never-seen', 'other')
  expect(next.fence).toBeGreaterThan(Math.max(...fences))
})
