import { expect, test } from 'vitest'
import { filesystemStore } from '../../src/session/index.ts'
import { compareHistories } from '../support/openai-histories.ts'
import { PostgresSessions } from '../support/postgres-sessions.ts'
import { PostgresServer } from '../support/postgres.ts'
import { SessionWorld } from '../support/session-world.ts'

const count = 2000

test(`${count} random conversations give the same as the SDK's own session, in files`, async () => {
  await using world = new SessionWorld()
  expect(await compareHistories(() => filesystemStore({ home: world.home }), count)).toBeGreaterThan(count)
})

test(`${count} random conversations give the same as the SDK's own session, in PostgreSQL`, async () => {
  await using server = await PostgresServer.start()
  await using sessions = await PostgresSessions.on(server)
  expect(await compareHistories(() => sessions.storeOver(), count)).toBeGreaterThan(count)
})
