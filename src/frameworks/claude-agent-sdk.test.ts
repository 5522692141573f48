import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import {
  deleteSession,
  foldSessionSummary,
  forkSession,
  getSessionInfo,
  getSessionMessages,
  InMemorySessionStore,
  listSessions,
  renameSession,
  type SessionKey,
  type SessionStore as TranscriptStore,
  tagSession,
} from '@anthropic-ai/claude-agent-sdk'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { PostgresSessions } from '../../test/support/postgres-sessions.ts'
import { PostgresServer } from '../../test/support/postgres.ts'
import { World } from '../../test/support/world.ts'
import { filesystemStore, type SessionStore } from '../session/index.ts'
import { sessionStore } from './claude-agent-sdk.ts'

const world = new World()
let server: PostgresServer
let postgres: PostgresSessions
beforeAll(async () => {
  server = await PostgresServer.start()
  postgres = await PostgresSessions.on(server)
})
afterAll(async () => {
  // The SDK sets it when it is loaded.
  delete process.env.NoDefaultCurrentDirectoryInExePath
  await postgres[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

const main: SessionKey = { projectKey: 'project', sessionId: 'session' }
const agent = (n: number): SessionKey => ({ ...main, subpath: `subagents/agent-${n}` })
const entry = (n: number, more: object = {}) => ({ type: 'user', n, ...more })
const longAgo = 1e12

describe.each(['files', 'PostgreSQL'])('in %s', (medium) => {
  let store: SessionStore
  afterEach(() => store.close())

  async function fresh(): Promise<Required<TranscriptStore>> {
    if (medium === 'PostgreSQL') await postgres.clear()
    store = medium === 'files' ? filesystemStore({ home: join(world.tmp, randomUUID()) }) : postgres.store
    return sessionStore(store)
  }

  test('contract 1: what was appended is loaded, deep-equal and in order', async () => {
    const transcripts = await fresh()
    const entries = [
      entry(1, { uuid: 'b', nested: { list: [null, 'ü', 1.5], empty: {} } }),
      entry(2, { uuid: 'a' }),
    ]
    await transcripts.append(main, entries)
    expect(await transcripts.load(main)).toEqual(entries)
  })

  test('contract 2: a transcript that was never written is null', async () => {
    const transcripts = await fresh()
    expect(await transcripts.load(main)).toBeNull()
    await transcripts.append(main, [entry(1)])
    expect(await transcripts.load(agent(1))).toBeNull()
  })

  test('contract 3: several appends keep the order of the calls', async () => {
    const transcripts = await fresh()
    await Promise.all(
      [[1], [2, 3], [4]].map((batch) =>
        transcripts.append(
          main,
          batch.map((n) => entry(n)),
        ),
      ),
    )
    expect(await transcripts.load(main)).toEqual([1, 2, 3, 4].map((n) => entry(n)))
  })

  test('contract 4: appending nothing changes nothing', async () => {
    const transcripts = await fresh()
    await transcripts.append(main, [])
    expect(await transcripts.load(main)).toBeNull()
    await transcripts.append(main, [entry(1)])
    await transcripts.append(main, [])
    expect(await transcripts.load(main)).toEqual([entry(1)])
  })

  test('contract 5: the transcript of a subagent is apart from the main one', async () => {
    const transcripts = await fresh()
    await transcripts.append(main, [entry(1, { uuid: 'same' })])
    await transcripts.append(agent(1), [entry(2, { uuid: 'same' })])
    expect(await transcripts.load(main)).toEqual([entry(1, { uuid: 'same' })])
    expect(await transcripts.load(agent(1))).toEqual([entry(2, { uuid: 'same' })])
  })

  test('contract 6: projects are apart from each other', async () => {
    const transcripts = await fresh()
    const keys = ['a', 'b', 'a/b', 'a"'].map((projectKey) => ({ projectKey, sessionId: 'session' }))
    for (const [n, key] of keys.entries()) await transcripts.append(key, [entry(n)])
    for (const [n, key] of keys.entries()) {
      expect(await transcripts.load(key)).toEqual([entry(n)])
      expect(await transcripts.listSessions(key.projectKey)).toHaveLength(1)
    }
  })

  test('contract 7: the sessions of a project are listed, with times in milliseconds', async () => {
    const transcripts = await fresh()
    for (const sessionId of ['one', 'two/parts']) await transcripts.append({ ...main, sessionId }, [entry(1)])
    await transcripts.append({ projectKey: 'other', sessionId: 'three' }, [entry(1)])
    const listed = await transcripts.listSessions('project')
    expect(listed.map(({ sessionId }) => sessionId).sort()).toEqual(['one', 'two/parts'])
    for (const { mtime } of listed) expect(Number.isInteger(mtime) && mtime > longAgo).toBe(true)
    expect(await transcripts.listSessions('never')).toEqual([])
  })

  test('contract 8: subagents are not listed as sessions', async () => {
    const transcripts = await fresh()
    await transcripts.append(main, [entry(1)])
    for (const key of [agent(1), { ...agent(2), sessionId: 'without main' }])
      await transcripts.append(key, [entry(1)])
    expect((await transcripts.listSessions('project')).map(({ sessionId }) => sessionId)).toEqual(['session'])
  })

  test('contract 9: a deleted session is null, and deleting one that never was is no error', async () => {
    const transcripts = await fresh()
    await transcripts.delete({ ...main, sessionId: 'never' })
    await transcripts.append(main, [entry(1)])
    await transcripts.delete(main)
    expect(await transcripts.load(main)).toBeNull()
    await transcripts.append(main, [entry(2)])
    expect(await transcripts.load(main)).toEqual([entry(2)])
  })

  test('contract 10: deleting a session deletes its subagents, and nothing else', async () => {
    const transcripts = await fresh()
    const others = [
      { ...main, sessionId: 'session2' },
      { ...main, projectKey: 'other' },
    ]
    for (const key of [main, agent(1), agent(2), ...others]) await transcripts.append(key, [entry(1)])
    await transcripts.delete(main)
    for (const key of [main, agent(1), agent(2)]) expect(await transcripts.load(key)).toBeNull()
    for (const key of others) expect(await transcripts.load(key)).toEqual([entry(1)])
    expect(await transcripts.listSubkeys(main)).toEqual([])
    expect((await transcripts.listSessions('project')).map(({ sessionId }) => sessionId)).toEqual([
      'session2',
    ])
  })

  test('contract 11: deleting a subagent deletes only its transcript', async () => {
    const transcripts = await fresh()
    for (const key of [main, agent(1), agent(2)]) await transcripts.append(key, [entry(1)])
    await transcripts.delete(agent(1))
    expect(await transcripts.load(agent(1))).toBeNull()
    for (const key of [main, agent(2)]) expect(await transcripts.load(key)).toEqual([entry(1)])
    expect(await transcripts.listSubkeys(main)).toEqual([agent(2).subpath])
  })

  test('contract 12: the subagents of a session are listed by their paths', async () => {
    const transcripts = await fresh()
    for (const key of [main, agent(1), agent(2), { ...agent(3), sessionId: 'other' }])
      await transcripts.append(key, [entry(1)])
    expect((await transcripts.listSubkeys(main)).sort()).toEqual([agent(1).subpath, agent(2).subpath])
  })

  test('contract 13: the main transcript is no subagent', async () => {
    const transcripts = await fresh()
    await transcripts.append(main, [entry(1)])
    expect(await transcripts.listSubkeys(main)).toEqual([])
    expect(await transcripts.listSubkeys({ ...main, sessionId: 'never' })).toEqual([])
  })

  test('summaries are those of the SDK, with the times of the list', async () => {
    const transcripts = await fresh()
    const batches = [
      [entry(1, { timestamp: '2026-01-01T00:00:00.000Z', customTitle: 'first' }), entry(2, { cwd: '/work' })],
      [entry(3, { customTitle: 'second' })],
    ]
    for (const batch of batches) await transcripts.append(main, batch)
    await transcripts.append(agent(1), [entry(4, { customTitle: 'of a subagent' })])
    const [summary, ...more] = await transcripts.listSessionSummaries('project')
    const expected = foldSessionSummary(undefined, main, batches.flat())
    expect([summary?.sessionId, summary?.data]).toEqual(['session', expected.data])
    expect(more).toEqual([])
    expect([summary?.mtime]).toEqual((await transcripts.listSessions('project')).map(({ mtime }) => mtime))
    await transcripts.delete(main)
    expect(await transcripts.listSessionSummaries('project')).toEqual([])
  })

  test('an entry that is appended again, by a retry or another process, is stored once', async () => {
    const transcripts = await fresh()
    const entries = [
      entry(1, { uuid: 'a' }),
      entry(2, { uuid: 'b' }),
      entry(3, { uuid: 'a' }),
      { type: 'title' },
    ]
    await transcripts.append(main, entries)
    await store.close()
    const again = sessionStore(medium === 'files' ? store : postgres.storeOver())
    await again.append(main, entries)
    await again.append(main, [entry(1, { uuid: 'a' })])
    expect(await transcripts.load(main)).toEqual([
      entries[0],
      entries[1],
      { type: 'title' },
      { type: 'title' },
    ])
  })

  test('the functions of the SDK give the same as with its own store in memory', async () => {
    const id = randomUUID()
    const message = (n: number, parentUuid: string | null) => ({
      type: 'user',
      uuid: `00000000-0000-4000-8000-00000000000${n}`,
      parentUuid,
      sessionId: id,
      timestamp: `2026-01-01T00:00:0${n}.000Z`,
      cwd: '/',
      message: { role: 'user', content: `hello ${n}, sk-ant-api03-${'x'.repeat(90)}` },
    })
    const results = []
    for (const transcripts of [new InMemorySessionStore(), await fresh()]) {
      const options = { sessionStore: transcripts, dir: '/' }
      const projectKey = '-'
      await transcripts.append({ projectKey, sessionId: id }, [
        message(1, null),
        message(2, message(1, null).uuid),
      ])
      await renameSession(id, 'a title', options)
      await tagSession(id, 'a-tag', options)
      const fork = await forkSession(id, options)
      const seen = {
        messages: await getSessionMessages(id, options),
        info: { ...(await getSessionInfo(id, options)), lastModified: 0 },
        listed: (await listSessions(options)).length,
        forked: (await getSessionMessages(fork.sessionId, options)).length,
      }
      await deleteSession(id, options)
      results.push({ ...seen, afterwards: (await listSessions(options)).length })
    }
    expect(results[1]).toMatchObject({ listed: 2, forked: 2, afterwards: 1, messages: [{}, {}] })
    expect(results[1]).toEqual(results[0])
  })
})
