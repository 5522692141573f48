import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compareHistories } from '../../test/support/openai-histories.ts'
import { PostgresSessions } from '../../test/support/postgres-sessions.ts'
import { PostgresServer } from '../../test/support/postgres.ts'
import { SessionWorld } from '../../test/support/session-world.ts'
import { filesystemStore } from '../session/index.ts'
import { StintSession } from './openai-agents.ts'

let server: PostgresServer
let postgres: PostgresSessions
beforeAll(async () => {
  server = await PostgresServer.start()
  postgres = await PostgresSessions.on(server)
})
afterAll(async () => {
  await postgres[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const message = (text: string) => ({ type: 'message', role: 'user', content: text })

test('random conversations give the same as the SDK’s own session, in files', async () => {
  await using world = new SessionWorld()
  expect(await compareHistories(() => filesystemStore({ home: world.home }), 60)).toBeGreaterThan(60)
})

test('random conversations give the same as the SDK’s own session, in PostgreSQL', async () => {
  expect(await compareHistories(() => postgres.storeOver(), 20)).toBeGreaterThan(20)
})

test('a transaction that is applied again after a restart changes nothing, another with its id is refused', async () => {
  await using world = new SessionWorld()
  const args = (text: string) => ({
    operationId: 'turn 1',
    transaction: { type: 'append_items' as const, items: [message(text)] },
  })
  const first = new StintSession(world.store, { sessionId: 'ü/☃' })
  await first.applyHistoryTransaction(args('hello'))
  await world.store.close()
  const store = filesystemStore({ home: world.home })
  const again = new StintSession(store, { sessionId: 'ü/☃' })
  await again.applyHistoryTransaction(args('hello'))
  await expect(again.applyHistoryTransaction(args('other'))).rejects.toThrow('different transaction')
  expect(await again.getItems()).toEqual([message('hello')])
  await store.close()
})

test('several processes may add to one conversation: nothing is lost, and each batch stays together', async () => {
  await using world = new SessionWorld()
  const sessionId = randomUUID()
  const stores = [1, 2, 3].map(() => filesystemStore({ home: world.home }))
  await Promise.all(
    stores.map(async (store, by) => {
      const session = new StintSession(store, { sessionId, wait: '1m', idle: 1 })
      for (let n = 0; n < 3; n++) await session.addItems([message(`${by} ${n} a`), message(`${by} ${n} b`)])
      await store.close()
    }),
  )
  const texts = (await new StintSession(world.store, { sessionId }).getItems()).map(({ content }) =>
    String(content),
  )
  expect(texts).toHaveLength(18)
  for (let index = 0; index < texts.length; index += 2)
    expect(texts[index + 1]).toBe(texts[index]?.replace(/a$/, 'b'))
  expect(new Set(texts).size).toBe(18)
})

test('a session without an id is refused, and one without a name gets a new id', async () => {
  await using world = new SessionWorld()
  expect(() => new StintSession(world.store, { sessionId: '' })).toThrow(
    expect.objectContaining({ code: 'ARG_ERROR' }),
  )
  const ids = await Promise.all([1, 2].map(() => new StintSession(world.store).getSessionId()))
  expect(new Set(ids).size).toBe(2)
})
