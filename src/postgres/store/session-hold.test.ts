import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { interceptedPool } from '../../../test/support/intercepted-pool.ts'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { PostgresSessions } from '../../../test/support/postgres-sessions.ts'
import { ownIdentity } from '../../base/process/liveness.ts'
import type { Session } from '../../session/session.ts'
import { postgresStore } from './medium.ts'
import { rowStanding } from './session-hold.ts'
import type { RemoteHolder } from './session-row.ts'

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

const holder: RemoteHolder = {
  process: ownIdentity(),
  host: 'here',
  since: 0,
  beat: 1000,
  kind: 'writer',
  epoch: 1,
}

test('a dead holder loses its session at once, one that cannot be seen after five minutes without a heartbeat', () => {
  const standing = (life: 'alive' | 'dead' | 'unknown', now: number) =>
    rowStanding({ token: 't', holder, now }, () => life)
  const limit = 1000 + 5 * 60_000
  expect(rowStanding({ token: undefined, holder: undefined, now: 0 })).toBe('released')
  expect(rowStanding({ token: 't', holder: undefined, now: 0 })).toBe('dead')
  expect(standing('dead', 1000)).toBe('dead')
  expect(standing('alive', limit * 2)).toBe('held')
  expect(standing('unknown', limit)).toBe('held')
  expect(standing('unknown', limit + 1)).toBe('silent')
})

/** Makes the holder look like one on another machine. */
const moveAway = () =>
  sessions.sql(`UPDATE stint.session SET holder = replace(holder, $1, 'another-machine')`, ownIdentity().host)
const silence = (time: string) =>
  sessions.sql(`UPDATE stint.session SET beat = clock_timestamp() - $1::interval`, time)
const held = async (): Promise<Session> => {
  const session = await sessions.store.create({ id: 'mine', purpose: 'deploy' })
  await session.append({ type: 'note', data: 'mine' })
  await moveAway()
  return session
}

test('a holder on another machine is named, and loses the session after five silent minutes by the clock of the server', async () => {
  const session = await held()
  await silence('4 minutes 50 seconds')
  await expect(sessions.store.resume('mine')).rejects.toMatchObject({
    code: 'SESSION_LOCKED',
    exit: 4,
    message: expect.stringMatching(/^session mine is held by pid \d+ on \S+ \(deploy\) for /) as string,
    options: { facts: { holder: { pid: process.pid, purpose: 'deploy' } } },
  })
  expect(await sessions.store.list()).toMatchObject([{ state: 'locked', holder: { purpose: 'deploy' } }])
  await silence('5 minutes 10 seconds')
  expect(await sessions.store.list()).toMatchObject([{ state: 'crashed' }])
  await using again = await sessions.store.resume('mine')
  expect(again.report.tookOverFrom).toMatchObject({ purpose: 'deploy', process: { pid: process.pid } })
  await expect(session.append({ type: 'note', data: 'late' })).rejects.toMatchObject({ code: 'FENCED' })
  await again.append({ type: 'note', data: 'theirs' })
  expect(await sessions.data('mine')).toEqual(['mine', 'theirs'])
})

test('an append and a revision count as heartbeats', async () => {
  const session = await held()
  const locked = { code: 'SESSION_LOCKED' }
  await silence('6 minutes')
  await session.append({ type: 'note' })
  await expect(sessions.store.resume('mine')).rejects.toMatchObject(locked)
  await silence('6 minutes')
  await session.annotate({ title: 't' })
  await expect(sessions.store.resume('mine')).rejects.toMatchObject(locked)
  await session.close()
})

test('a silent holder that appends while another process takes its session keeps it', async () => {
  const session = await held()
  await silence('6 minutes')
  let late = false
  const slow = interceptedPool(sessions.pool, async (sql, run) => {
    if (sql.includes('SET epoch = $5::bigint + 1') && !late) {
      late = true
      await session.append({ type: 'note', data: 'alive' })
    }
    return await run(sql)
  })
  await expect(postgresStore({ pool: slow }).resume('mine')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
  expect(late).toBe(true)
  await session.append({ type: 'note', data: 'still' })
  await session.close()
})

test('wrong clocks of the holder and of other processes make no difference', async () => {
  const wrong = { now: () => Date.now() + 3_600_000, mono: () => 0 }
  const session = await postgresStore({ pool: sessions.pool, clock: wrong }).create({ id: 'mine' })
  await moveAway()
  await expect(postgresStore({ pool: sessions.pool, clock: wrong }).resume('mine')).rejects.toMatchObject({
    code: 'SESSION_LOCKED',
  })
  await session.close()
})

test('a removed session is hidden, its id is free, and its rows are kept until they are purged', async () => {
  const session = await sessions.store.create({ id: 'mine' })
  await session.append({ type: 'note', data: 1 })
  await expect(sessions.store.remove('mine')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
  await session.close()
  await sessions.store.remove('mine')
  expect(await sessions.store.list()).toEqual([])
  for (const act of ['inspect', 'resume', 'remove'] as const)
    await expect(sessions.store[act]('mine')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(await sessions.sql('SELECT line FROM stint.journal')).toHaveLength(1)
  await using again = await sessions.store.create({ id: 'mine' })
  expect(await again.tail(1)).toEqual([])
  await again.append({ type: 'note', data: 2 })
  expect(await sessions.data('mine')).toEqual([2])
})

test('a silent writer whose session was removed is fenced', async () => {
  const session = await held()
  await silence('6 minutes')
  await sessions.store.remove('mine')
  await expect(session.append({ type: 'note' })).rejects.toMatchObject({ code: 'FENCED' })
})

test('lists are filtered in the database', async () => {
  for (const [id, tool, workspace] of [
    ['a', 'x', '/one'],
    ['b', 'y', '/one'],
    ['c', 'x', '/two'],
  ]) {
    await using session = await sessions.store.create({ id, tool, workspace })
    await session.append({ type: 'note' })
  }
  const ids = async (options: object) => (await sessions.store.list(options)).map(({ id }) => id).sort()
  expect(await ids({})).toEqual(['a', 'b', 'c'])
  expect(await ids({ tool: 'x' })).toEqual(['a', 'c'])
  expect(await ids({ tool: 'x', workspace: '/one' })).toEqual(['a'])
  expect(await ids({ workspace: '/three' })).toEqual([])
})

test('a role with the documented grants can use sessions, and cannot change records', async () => {
  const { grants } = await import('../../../test/support/postgres-world.ts')
  await server.admin(`CREATE ROLE team LOGIN PASSWORD 'team-password'`)
  await server.admin(grants('team'), sessions.database)
  const pool = server.pool({ database: sessions.database, user: 'team', password: 'team-password' })
  const store = postgresStore({ pool })
  const session = await store.create({ id: 'mine' })
  await session.slot('s', { version: '1', initial: 0 }).set(1)
  await session.act({ action: 'a', key: 'k' }, () => 1)
  for (let n = 0; n < 5; n++) {
    await session.turn()
    await session.snapshot()
  }
  await (await session.fork()).close()
  await session.close()
  expect(await (await store.inspect('mine')).health()).toMatchObject({ ok: true })
  await store.remove('mine')
  for (const table of ['journal', 'audit', 'revision', 'blob']) {
    await expect(pool.query(`DELETE FROM stint.${table}`)).rejects.toThrow('permission denied')
    await expect(pool.query(`UPDATE stint.${table} SET session = 1`)).rejects.toThrow('permission denied')
  }
  await expect(pool.query('DELETE FROM stint.session')).rejects.toThrow('permission denied')
})
