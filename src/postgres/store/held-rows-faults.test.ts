import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { interceptedPool } from '../../../test/support/intercepted-pool.ts'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { PostgresSessions } from '../../../test/support/postgres-sessions.ts'
import { projectRoot } from '../../../test/support/world.ts'
import type { Session } from '../../session/session.ts'
import { until } from '../../testing/conformance-case.ts'
import { migrate } from '../migrate.ts'
import { postgresStore } from './medium.ts'
import { purge } from './purge.ts'

let server: PostgresServer
let sessions: PostgresSessions
beforeAll(async () => {
  server = await PostgresServer.start()
  sessions = await PostgresSessions.on(server)
})
beforeEach(() => sessions.clear())
afterAll(async () => {
  await sessions[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

/** A part of the statement that appends, for the proxy. */
const append = 'bytes = bytes + $6'
const note = (session: Session, data: unknown) => session.append({ type: 'note', data })

test.each(['cut before', 'cut after'] as const)(
  'every write of a session is carried out once, although the connection breaks at each (%s)',
  async (kind) => {
    const { proxy } = sessions
    const store = sessions.storeOver()
    // The schema is checked now, so that the first fault strikes the statement that it is meant for.
    await store.list()
    proxy.strike('INSERT INTO stint.session', kind)
    const session = await store.create({ id: 'mine', title: 'before' })
    proxy.strike(append, kind)
    expect(await note(session, 1)).toMatchObject({ seq: 1 })
    proxy.strike(append, kind)
    await session.slot('s', { version: '1', initial: 0 }).set(7)
    proxy.strike(append, kind)
    expect(await session.audit({ action: 'a' })).toMatchObject({ seq: 1 })
    proxy.strike('INSERT INTO stint.revision', kind)
    await session.annotate({ title: 'after' })
    proxy.strike('INSERT INTO stint.state', kind)
    await session.snapshot()
    proxy.strike('token, holder, since, beat', kind)
    await session.close()
    proxy.strike('SET epoch = $5::bigint + 1', kind)
    const again = await store.resume('mine')
    proxy.strike('WITH published AS', kind)
    const fork = await again.fork({ id: 'copy' })
    await fork.close()
    await again.close()
    expect(proxy.faults).toBe(9)
    for (const id of ['mine', 'copy']) {
      expect(await sessions.isWhole(id)).toBe(true)
      expect(await sessions.data(id)).toEqual([1])
    }
    const { summary, manifest } = await sessions.store.inspect('mine')
    expect(summary).toMatchObject({ title: 'after', records: 2, state: 'closed' })
    const kinds = manifest.revisions.map(({ kind }) => kind)
    expect(kinds).toEqual(['create', 'annotate', 'close', 'resume', 'close'])
    expect(manifest.revisions.map(({ rev }) => rev)).toEqual([1, 2, 3, 4, 5])
  },
)

test('a visit writes its record once, although the connection breaks', async () => {
  await (await sessions.store.create({ id: 'mine' })).close()
  const visitor = sessions.storeOver()
  await visitor.list()
  for (const kind of ['cut before', 'cut after'] as const) {
    sessions.proxy.strike(append, kind)
    await visitor.visit('mine', (visit) => visit.append({ type: 'note', data: kind }))
  }
  expect(sessions.proxy.faults).toBe(2)
  expect(await sessions.data('mine')).toEqual(['cut before', 'cut after'])
  expect(await sessions.isWhole('mine')).toBe(true)
})

/** A pool that runs `meanwhile` after the first such statement was carried out, and then loses its answer. */
function interrupted(pool: pg.Pool, statement: string, meanwhile: () => Promise<unknown>) {
  let struck = false
  return interceptedPool(pool, async (sql, run) => {
    const result = await run(sql)
    if (struck || !sql.includes(statement)) return result
    struck = true
    await meanwhile()
    throw Object.assign(new Error('the connection was cut'), { code: 'ECONNRESET' })
  })
}

test('an append that was carried out before another process took the session is acknowledged, and the next one is fenced', async () => {
  const { store } = sessions
  const pool = interrupted(sessions.pool, append, () => store.unlock('mine'))
  const session = await postgresStore({ pool }).create({ id: 'mine' })
  expect(await note(session, 'ours')).toMatchObject({ seq: 1 })
  await expect(note(session, 'late')).rejects.toMatchObject({ code: 'FENCED' })
  await using again = await store.resume('mine')
  await note(again, 'theirs')
  expect(await sessions.data('mine')).toEqual(['ours', 'theirs'])
})

test('an append without an answer is not called retryable; one that did not reach the server is not there', async () => {
  const { proxy } = sessions
  const session = await sessions.storeOver({ patienceMs: 0 }).create({ id: 'mine' })
  await note(session, 1)
  proxy.strike(append, 'cut before')
  await expect(note(session, 'lost')).rejects.toMatchObject({
    code: 'POSTGRES_UNAVAILABLE',
    retryable: false,
  })
  expect(await note(session, 2)).toMatchObject({ seq: 2 })
  await session.close()
  expect(await sessions.data('mine')).toEqual([1, 2])
})

test('of several appends without an answer, the one that was carried out is found', async () => {
  const { proxy } = sessions
  const session = await sessions.storeOver({ patienceMs: 0 }).create({ id: 'mine' })
  for (const kind of ['cut after', 'cut before'] as const) {
    proxy.strike(append, kind)
    await expect(note(session, kind)).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' })
  }
  expect(await note(session, 'next')).toMatchObject({ seq: 2 })
  await session.close()
  expect(await sessions.data('mine')).toEqual(['cut after', 'next'])
})

test('an append that was rejected but carried out counts as soon as the server answers again', async () => {
  const { proxy } = sessions
  const session = await sessions.storeOver({ timeoutMs: 400 }).create({ id: 'mine' })
  const slot = session.slot('s', { version: '1', initial: 0 })
  proxy.strike(append, 'silence')
  await expect(slot.set(7)).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' })
  expect([slot.value, session.lastSeq]).toEqual([0, 0])
  expect(await note(session, 'next')).toMatchObject({ seq: 2 })
  expect([slot.value, session.lastSeq]).toEqual([7, 2])
  proxy.strike(append, 'silence')
  await expect(slot.set(8)).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' })
  await session.close()
  const { revisions } = (await sessions.store.inspect('mine')).manifest
  // The close attests what was acknowledged; the next resume finds the record that was carried out, too.
  expect(revisions.at(-1)).toMatchObject({ kind: 'close', seq: 2 })
  await using again = await sessions.store.resume('mine')
  expect(again.slot('s', { version: '1', initial: 0 }).value).toBe(8)
  expect(await sessions.isWhole('mine')).toBe(true)
})

test('an append that still waits in the server while the next one is sent is carried out once, and before it', async () => {
  const session = await postgresStore({ pool: sessions.pool, timeoutMs: 500 }).create({ id: 'mine' })
  await note(session, 1)
  const other = await sessions.pool.connect()
  await other.query('BEGIN')
  await other.query('SELECT FROM stint.session FOR UPDATE')
  await expect(note(session, 'slow')).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' })
  const next = note(session, 'next')
  await until('both appends wait', async () => {
    const [row] = await server.admin(
      `SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = '${sessions.database}'`,
    )
    return row?.count === 2
  })
  await other.query('COMMIT')
  other.release()
  expect(await next).toMatchObject({ seq: 3 })
  await session.close()
  expect(await sessions.data('mine')).toEqual([1, 'slow', 'next'])
  expect(await sessions.isWhole('mine')).toBe(true)
})

test('a process that waits only for an append with durable: false does not end before it is acknowledged', async () => {
  const program = join(projectRoot, 'test/fixtures/postgres-lazy-append.mjs')
  const args = [program, server.url({ database: sessions.database }), 'mine']
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(stdout).toBe('acknowledged 1\n')
  expect(await sessions.data('mine')).toEqual(['lazy'])
  // Nor before the session is closed.
  expect((await sessions.store.inspect('mine')).summary.state).toBe('closed')
})

test('no append is lost or repeated when connections break in the middle of a batch', async () => {
  const session = await sessions.store.create({ id: 'mine' })
  let cuts = 0
  const callers = Array.from({ length: 16 }, async (_, caller) => {
    for (let n = 0; n < 40; n++) {
      const { seq } = await note(session, [caller, n])
      if (seq % 100 === 0) {
        cuts += 1
        await server.admin(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${sessions.database}'`,
        )
      }
    }
  })
  await Promise.all(callers)
  await session.close()
  expect(cuts).toBeGreaterThan(0)
  const data = (await sessions.data('mine')) as [number, number][]
  for (let caller = 0; caller < 16; caller++)
    expect(data.filter(([who]) => who === caller).map(([, n]) => n)).toEqual([...Array(40).keys()])
  expect(data).toHaveLength(640)
})

test('an append waits for a server that was killed and comes back, but not for longer than patienceMs', async () => {
  const session = await sessions.store.create({ id: 'mine' })
  const brief = await postgresStore({ pool: sessions.pool, patienceMs: 200 }).create({ id: 'brief' })
  await server.kill()
  const waiting = note(session, 1)
  await expect(note(brief, 1)).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE', exit: 12 })
  await expect(sessions.store.resume('brief')).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE' })
  await server.start()
  expect(await waiting).toMatchObject({ seq: 1 })
  expect(await note(brief, 2)).toMatchObject({ seq: 1 })
  await session.close()
  await brief.close()
})

test('acknowledged records survive a crash of the server, even with synchronous_commit = off', async () => {
  await server.admin(`ALTER SYSTEM SET synchronous_commit = 'off'`)
  await server.admin(`ALTER SYSTEM SET wal_writer_delay = '10s'`)
  await server.kill()
  await server.start()
  const session = await sessions.store.create({ id: 'mine' })
  await sessions.sql('CREATE TABLE other (n integer)')
  await note(session, 1)
  await sessions.sql('INSERT INTO other VALUES (1)')
  await server.kill()
  await server.start()
  // Without our setting, a commit is lost.
  expect(await sessions.sql('SELECT * FROM other')).toEqual([])
  expect(await sessions.data('mine')).toEqual([1])
  for (const name of ['synchronous_commit', 'wal_writer_delay'])
    await server.admin(`ALTER SYSTEM RESET ${name}`)
  await server.admin('SELECT pg_reload_conf()')
})

test('an append waits for a free connection of the pool, until POSTGRES_UNAVAILABLE', async () => {
  const pool = server.pool({ database: sessions.database, max: 1 })
  const session = await postgresStore({ pool, timeoutMs: 300, patienceMs: 300 }).create({ id: 'mine' })
  const other = await pool.connect()
  await expect(note(session, 'never sent')).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE', exit: 12 })
  const next = note(session, 'next')
  other.release()
  await next
  await session.close()
  const data = await sessions.data('mine')
  // The first append was in the queue of the pool, from which it cannot be withdrawn.
  expect(data).toEqual(['never sent', 'next'])
})

test('an append whose answer was lost is found later, even if the tries after it have failed for certain', async () => {
  let isBroken = true
  let sent = 0
  const pool = interceptedPool(sessions.pool, async (sql, run) => {
    if (!isBroken || !sql.includes('INSERT INTO stint.journal')) return await run(sql)
    sent += 1
    if (sent > 1) throw Object.assign(new Error('too many clients already'), { code: '53300' })
    await run(sql)
    throw Object.assign(new Error('the connection was lost'), { code: '08006' })
  })
  const session = await postgresStore({ pool, patienceMs: 100 }).create({ id: 'mine' })
  await expect(note(session, 1)).rejects.toMatchObject({ code: 'POSTGRES_UNAVAILABLE', retryable: false })
  expect(sent).toBeGreaterThan(1)
  isBroken = false
  expect(await note(session, 2)).toMatchObject({ seq: 2 })
  await session.close()
  expect(await sessions.data('mine')).toEqual([1, 2])
})

test('a writer stops when the server has lost acknowledged records', async () => {
  const session = await sessions.store.create({ id: 'mine' })
  for (const n of [1, 2, 3]) await note(session, n)
  // As if a replica had taken over that lacked the last records.
  await sessions.sql('DELETE FROM stint.journal WHERE seq > 1')
  await sessions.sql(
    `UPDATE stint.session SET head_seq = 1, head_sum = (SELECT left(right(line, 10), 8) FROM stint.journal)`,
  )
  const lost = { code: 'JOURNAL_CORRUPT', message: expect.stringContaining('lost') as string }
  await expect(note(session, 4)).rejects.toMatchObject(lost)
  await expect(note(session, 5)).rejects.toMatchObject(lost)
  await expect(session.close()).rejects.toMatchObject(lost)
  await using again = await sessions.store.resume('mine')
  expect(await note(again, 'goes on')).toMatchObject({ seq: 2 })
})

test('a pooler that allows no transactions is an error that says so at once, and need not be retried', async () => {
  const mode = 'transaction blocks not allowed in statement pooling mode'
  const begun: string[] = []
  const pool = interceptedPool(sessions.pool, async (sql, run) => {
    if (sql !== 'BEGIN') return await run(sql)
    begun.push(sql)
    throw Object.assign(new Error(mode), { code: '08P01' })
  })
  await expect(purge({ pool, olderThanMs: 0 })).rejects.toMatchObject({
    code: 'POSTGRES_POOL_MODE',
    exit: 4,
    retryable: false,
    message: expect.stringContaining(mode) as string,
    hint: expect.stringContaining('transaction or session') as string,
  })
  expect(begun).toHaveLength(1)
})

test('a database that cannot store every character is an error, and nothing is written', async () => {
  await server.admin(`CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0`)
  const pool = server.pool({ database: 'latin' })
  await migrate({ pool })
  const session = await postgresStore({ pool }).create({ id: 'mine' })
  await expect(note(session, '🙂')).rejects.toMatchObject({
    code: 'POSTGRES_SCHEMA',
    hint: expect.stringContaining('UTF8') as string,
  })
  expect(await note(session, 'ü')).toMatchObject({ seq: 1 })
  await session.close()
})

// The last test: it leaves the server as a replica.
test('a replica can be read, and writes fail with POSTGRES_READ_ONLY', async () => {
  await using session = await sessions.store.create({ id: 'mine' })
  await note(session, 1)
  await session.close()
  await server.becomeReplica()
  expect(await sessions.store.list()).toMatchObject([{ id: 'mine', state: 'closed' }])
  expect(await sessions.data('mine')).toEqual([1])
  expect(await sessions.isWhole('mine')).toBe(true)
  const readOnly = { code: 'POSTGRES_READ_ONLY', exit: 4 }
  await expect(sessions.store.resume('mine')).rejects.toMatchObject(readOnly)
  await expect(sessions.store.create()).rejects.toMatchObject(readOnly)
  await expect(sessions.store.visit('mine', (visit) => visit.append({ type: 'a' }))).rejects.toMatchObject(
    readOnly,
  )
})
