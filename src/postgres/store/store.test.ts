import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { migrate } from '../migrate.ts'
import { postgresStore } from './store.ts'

let server: PostgresServer
let pool: pg.Pool
beforeAll(async () => {
  server = await PostgresServer.start()
  const database = await server.createDatabase()
  pool = server.pool({ database })
  await migrate({ pool })
})
afterAll(() => server[Symbol.asyncDispose]())

test('a session that was closed resumes with everything it had', async () => {
  const store = postgresStore({ pool })
  const session = await store.create({ tool: 'test', title: 'first' })
  const { id } = session
  const { seq } = await session.append({ type: 'message', data: { text: 'hello' } })
  expect(seq).toBe(1)
  const slot = session.slot<string[]>('todo', { version: '1', initial: [] })
  await slot.set([...slot.value, 'a'])
  await session.act({ action: 'shell', subject: 'ls', key: 'k' }, () => 42)
  await session.turn()
  await session.close()
  const again = await store.resume(id)
  expect(again.slot<string[]>('todo', { version: '1', initial: [] }).value).toEqual(['a'])
  expect(again.turns).toBe(1)
  expect(await again.act({ action: 'shell', key: 'k' }, () => 43)).toBe(42)
  expect(await again.tail(5)).toMatchObject([{ type: 'message' }])
  await again.close()
  expect((await store.list())[0]).toMatchObject({ id, state: 'closed', turns: 1 })
  expect(await (await store.inspect(id)).health()).toMatchObject({ ok: true })
})
