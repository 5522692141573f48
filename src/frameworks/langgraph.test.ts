import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint'
import { deltaChannelHistoryTests, validate } from '@langchain/langgraph-checkpoint-validation'
import * as vitest from 'vitest'
import { PostgresSessions } from '../../test/support/postgres-sessions.ts'
import { PostgresServer } from '../../test/support/postgres.ts'
import { World } from '../../test/support/world.ts'
import { filesystemStore, type SessionStore } from '../session/index.ts'
import { StintSaver } from './langgraph.ts'

// The suite expects its functions to be global, as they are in Jest.
const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } = vitest
for (const [name, value] of Object.entries({
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
}))
  vitest.vi.stubGlobal(name, value)

const world = new World()
let server: PostgresServer
let sessions: PostgresSessions
beforeAll(async () => {
  server = await PostgresServer.start()
  sessions = await PostgresSessions.on(server)
})
afterAll(async () => {
  vitest.vi.unstubAllGlobals()
  await sessions[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

/** An empty store on each medium. */
const media: Record<string, () => Promise<SessionStore>> = {
  async files() {
    const home = join(world.tmp, randomUUID())
    mkdirSync(home, { mode: 0o700 })
    return filesystemStore({ home })
  },
  async PostgreSQL() {
    await sessions.clear()
    return sessions.store
  },
}

for (const [medium, open] of Object.entries(media)) {
  const stores = new Map<BaseCheckpointSaver, SessionStore>()
  const initializer = {
    checkpointerName: `stint in ${medium}`,
    async createCheckpointer() {
      const store = await open()
      const saver = new StintSaver(store)
      stores.set(saver, store)
      return saver
    },
    async destroyCheckpointer(saver: BaseCheckpointSaver) {
      await stores.get(saver)?.close()
    },
  }
  validate(initializer)
  deltaChannelHistoryTests(initializer)
}
