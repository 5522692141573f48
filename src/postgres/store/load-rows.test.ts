import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { PostgresSessions } from '../../../test/support/postgres-sessions.ts'
import { World } from '../../../test/support/world.ts'
import { copySession } from '../../session/copy-session.ts'
import { FilesMedium, filesystemStore } from '../../session/files/medium.ts'
import { maxInlineChars } from '../../session/index.ts'
import type { Session } from '../../session/session.ts'
import type { SessionStore } from '../../session/store.ts'
import { PostgresMedium } from './medium.ts'
import { purge } from './purge.ts'

let server: PostgresServer
let sessions: PostgresSessions
let world: World
let driver: PostgresMedium
let files: SessionStore
let home: string
beforeAll(async () => {
  server = await PostgresServer.start()
  sessions = await PostgresSessions.on(server)
  world = new World()
  driver = new PostgresMedium({ pool: sessions.pool })
  home = join(world.tmp, 'home')
  files = filesystemStore({ home })
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await sessions[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const now = Date.parse('2030-01-01')
const inFiles = () => new FilesMedium({ home })
const toRows = async (from: string, id?: string) =>
  (await copySession(await inFiles().read(from), driver, now, id)).id
const toFiles = async (from: string, id?: string) =>
  (await copySession(await driver.read(from), inFiles(), now, id)).id

const big = { text: 'ü'.repeat(maxInlineChars) }

async function fill(session: Session): Promise<void> {
  await session.append({ type: 'note', data: { n: 1.5, quoted: '"\\\u2028', order: { b: 1, a: 2 } } })
  await session.append({ type: 'large', data: big })
  await session.slot<string[]>('todo', { version: '1', initial: [] }).set(['a'])
  await session.act({ action: 'shell', subject: 'make', key: 'k' }, () => 42)
  await session.audit({ action: 'half', phase: 'intent', act: 'a1' })
  await session.turn()
  await session.append({ type: 'last' })
  await session.close()
}

/** The content of a session, in a form that both stores share. */
async function contents(store: SessionStore, id: string) {
  const inspection = await store.inspect(id)
  const events: unknown[] = []
  for await (const event of inspection.events({ all: true })) events.push(event)
  const audit: unknown[] = []
  for await (const record of inspection.audit()) audit.push(record)
  const { ok, journal, audit: chain } = await inspection.health()
  return {
    events,
    audit,
    slots: await inspection.slots(),
    unsettled: await inspection.unsettled(),
    health: { ok, heads: [journal.head, chain.head] },
  }
}

test('a session that is copied from files to PostgreSQL and back has the same lines, and names its origin', async () => {
  const session = await files.create({ id: 'here', title: 'T', tool: 'test', workspace: '/w' })
  await fill(session)
  const there = await toRows('here')
  expect(there).toMatch(/^ses_/)
  expect(await contents(sessions.store, there)).toEqual(await contents(files, 'here'))
  const { manifest, summary } = await sessions.store.inspect(there)
  expect(summary).toMatchObject({
    title: 'T',
    tool: 'test',
    workspace: '/w',
    records: 5,
    state: 'closed',
  })
  expect(manifest.revisions.at(-1)).toMatchObject({
    kind: 'import',
    at: '2030-01-01T00:00:00.000Z',
    from: { session_id: 'here', seq: 5, store: 'filesystem' },
  })
  const back = await toFiles(there, 'back')
  expect(await contents(files, back)).toEqual(await contents(files, 'here'))
  const returned = (await files.inspect('back')).manifest
  expect(returned.revisions.at(-1)?.from).toEqual({ session_id: there, seq: 5, store: 'postgres' })

  for (const [store, id] of [
    [sessions.store, there],
    [files, back],
  ] as const) {
    await using again = await store.resume(id)
    expect(again.slot<string[]>('todo', { version: '1', initial: [] }).value).toEqual(['a'])
    expect(await again.act({ action: 'shell', subject: 'make', key: 'k' }, () => 43)).toBe(42)
    expect(again.unsettled()).toMatchObject([{ act: 'a1' }])
    await again.append({ type: 'goes on' })
  }
})

test('a session without records can be copied', async () => {
  await (await files.create({ id: 'empty' })).close()
  await toRows('empty', 'empty-there')
  await toFiles('empty-there', 'empty-back')
  for (const [store, id] of [
    [sessions.store, 'empty-there'],
    [files, 'empty-back'],
  ] as const) {
    await using session = await store.resume(id)
    expect(await session.append({ type: 'first' })).toMatchObject({ seq: 1 })
  }
})

test('nothing is copied if the id is taken, or the session is held or damaged', async () => {
  const before = [await files.list(), await sessions.store.list()].map((list) => list.length)
  await expect(toRows('here', 'empty-there')).rejects.toMatchObject({ code: 'NAME_TAKEN', exit: 6 })
  await expect(toFiles('empty-there', 'here')).rejects.toMatchObject({ code: 'NAME_TAKEN' })
  const [one, other] = [await files.resume('empty'), await sessions.store.resume('empty-there')]
  await expect((async () => await toRows('empty'))()).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
  await expect(toFiles('empty-there')).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
  await one.close()
  await other.close()
  await sessions.sql(`UPDATE stint.journal SET line = replace(line, 'quoted', 'QUOTED')`)
  const [damaged] = await sessions.store.list({ tool: 'test' })
  await expect(toFiles(damaged?.id ?? '')).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' })
  const after = [await files.list(), await sessions.store.list()].map((list) => list.length)
  expect(after).toEqual(before)
})

test('nothing is copied if a line changes on the way', async () => {
  const source = await inFiles().read('here')
  const { regions } = source
  let reads = 0
  source.regions = async function* (...given) {
    // The first reads verify the session.
    const isChanging = given[0] === 'audit' && ++reads > 2
    for await (const region of regions.apply(source, given)) {
      const text = region.bytes.toString()
      yield isChanging ? { ...region, bytes: Buffer.from(text.replace('make', 'fake')) } : region
    }
  }
  for (const [target, store] of [
    [driver, sessions.store],
    [inFiles(), files],
  ] as const) {
    reads = 0
    const before = await store.list()
    await expect(copySession(source, target, now)).rejects.toMatchObject({ code: 'AUDIT_CORRUPT' })
    expect(await store.list()).toHaveLength(before.length)
  }
})

test('purge deletes sessions that were removed long enough ago, and nothing else', async () => {
  await toRows('empty', 'kept')
  const gone = await sessions.store.create({ id: 'gone' })
  await fill(gone)
  await sessions.store.remove('gone')
  await driver.want('kept')
  const records = async () => Number((await sessions.sql('SELECT count(*) FROM stint.journal'))[0]?.count)
  const before = await records()
  expect(await purge({ pool: sessions.pool })).toEqual({ sessions: 0, records: 0, claims: 0 })
  expect(await records()).toBe(before)
  expect(await driver.wanted(['kept'])).toEqual(['kept'])
  await driver.want('kept')
  expect(await purge({ pool: sessions.pool, olderThanMs: 0 })).toEqual({ sessions: 1, records: 5, claims: 0 })
  expect(await records()).toBe(before - 5)
  const tables = ['journal', 'audit', 'revision', 'blob', 'state']
  for (const table of tables)
    expect(
      await sessions.sql(`SELECT FROM stint.${table} WHERE session NOT IN (SELECT key FROM stint.session)`),
    ).toEqual([])
  expect(await driver.wanted(['kept'])).toEqual([])
  expect((await sessions.store.list()).map(({ id }) => id)).toContain('kept')
})

test.each(['registered', 'tokens'] as const)(
  'a copy of a session that masks %s does the same',
  async (mask) => {
    const token = `gh${'p_'}${'Ab3dEf9hIj'.repeat(4)}`
    await (await files.create({ id: mask, mask })).close()
    const there = await toRows(mask)
    const back = await toFiles(there)
    for (const [store, id] of [[sessions.store, there] as const, [files, back] as const]) {
      await using copy = await store.resume(id)
      await copy.append({ type: 'note', data: token })
      expect((await copy.tail(1))[0]?.data).toBe(mask === 'tokens' ? '<masked:github-token>' : token)
    }
  },
)
