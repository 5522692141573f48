import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { PostgresSessions } from '../../../test/support/postgres-sessions.ts'
import { maxInlineChars } from '../../session/index.ts'
import { PostgresMedium } from './medium.ts'

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

const big = 'x'.repeat(maxInlineChars + 1)

/**
 * Creates a closed session with five events and five audit lines; the data of the third event is in a blob.
 */
async function create(id = 'mine'): Promise<void> {
  await using session = await sessions.store.create({ id })
  for (let n = 1; n <= 5; n++) {
    await session.audit({ action: `act ${n}` })
    await session.append({ type: 'note', data: n === 3 ? big : n })
  }
}

const health = async (id = 'mine') => await (await sessions.store.inspect(id)).health()

/** Changes a byte of a row. */
const change = (table: string, seq: number) =>
  sessions.sql(`UPDATE stint.${table} SET line = replace(line, '"type"', '"tyqe"') WHERE seq = $1`, seq)

const reorder = async (table: string) => {
  await sessions.sql(`UPDATE stint.${table} SET seq = -seq WHERE seq IN (2, 4)`)
  await sessions.sql(`UPDATE stint.${table} SET seq = 6 + seq WHERE seq < 0`)
}

const damages: [
  what: string,
  table: 'journal' | 'audit',
  act: (table: string) => Promise<unknown>,
  readable: number,
][] = (['journal', 'audit'] as const).flatMap((table) => [
  ['a changed record', table, (table) => change(table, 2), 1],
  ['a changed last record', table, (table) => change(table, 5), 4],
  ['a missing record', table, (table) => sessions.sql(`DELETE FROM stint.${table} WHERE seq = 3`), 2],
  ['a cut at the end', table, (table) => sessions.sql(`DELETE FROM stint.${table} WHERE seq > 3`), 3],
  ['an empty log', table, (table) => sessions.sql(`DELETE FROM stint.${table}`), 0],
  ['two exchanged records', table, reorder, 1],
  [
    'a record of another session',
    table,
    async (table) => {
      await create('other')
      await sessions.sql(
        `UPDATE stint.${table} SET line = (SELECT line FROM stint.${table} WHERE session = (SELECT max(key) FROM stint.session) AND seq = 5)
          WHERE session = (SELECT min(key) FROM stint.session) AND seq = 5`,
      )
    },
    table === 'audit' ? 4 : 5,
  ],
])

test.each(damages)(
  '%s of the %s is found and reported, and keeps writers out',
  async (_, table, act, readable) => {
    await create()
    // Without a snapshot, a resume reads everything.
    await sessions.sql('DELETE FROM stint.state')
    await act(table)
    const found = await health()
    expect(found.ok).toBe(false)
    expect(found[table]).toMatchObject({ state: 'damaged', lastSeq: readable })
    const code = table === 'journal' ? 'JOURNAL_CORRUPT' : 'AUDIT_CORRUPT'
    await expect(sessions.store.resume('mine')).rejects.toMatchObject({ code, exit: 4 })
    const list = await sessions.store.list()
    expect(list.find(({ id }) => id === 'mine')).toMatchObject({ state: 'damaged', holder: undefined })
    const before = await sessions.sql(`SELECT count(*) FROM stint.${table}`)
    await expect(
      sessions.store.visit('mine', (visit) => visit.append({ type: 'note' })),
    ).rejects.toMatchObject({ code })
    expect(await sessions.sql(`SELECT count(*) FROM stint.${table}`)).toEqual(before)
  },
)

test('a changed byte anywhere in a journal or an audit log is found', async () => {
  await using session = await sessions.store.create({ id: 'mine' })
  await session.audit({ action: 'act', subject: 'ü' })
  await session.append({ type: 'note', data: { text: 'a "quoted" word' } })
  await session.close()
  for (const table of ['journal', 'audit'] as const) {
    const [row] = await sessions.sql(`SELECT line FROM stint.${table}`)
    const line = String(row?.line)
    // Every fifth byte; the tests of the codec change each of them.
    for (let at = 0; at < line.length; at += 5) {
      const other = line[at] === '0' ? '1' : '0'
      await sessions.sql(
        `UPDATE stint.${table} SET line = $1`,
        line.slice(0, at) + other + line.slice(at + 1),
      )
      expect((await health())[table].state, `${table} at ${at}`).toBe('damaged')
    }
    await sessions.sql(`UPDATE stint.${table} SET line = $1`, line)
    expect((await health()).ok).toBe(true)
  }
})

test('a rewritten audit log is found by the journal alone, and by the close alone', async () => {
  await create()
  await using other = await sessions.store.create({ id: 'other' })
  for (let n = 1; n <= 5; n++) await other.audit({ action: `another act ${n}` })
  await other.close()
  const [forged] = await sessions.sql(`SELECT key, audit_head FROM stint.session WHERE id = 'other'`)
  await sessions.sql(
    `UPDATE stint.audit AS mine SET line = theirs.line FROM stint.audit AS theirs
    WHERE mine.session <> $1 AND theirs.session = $1 AND mine.seq = theirs.seq`,
    forged?.key,
  )
  await sessions.sql(`UPDATE stint.session SET audit_head = $1`, forged?.audit_head)
  const finds = async () => (await health()).audit.state
  // Only the journal attests it.
  await sessions.sql(`DELETE FROM stint.state`)
  await sessions.sql(`CREATE TABLE kept_revisions AS SELECT * FROM stint.revision`)
  await sessions.sql(`DELETE FROM stint.revision WHERE rev > 1`)
  expect(await finds()).toBe('damaged')
  // Only the close revision attests it.
  await sessions.sql(`DELETE FROM stint.revision`)
  await sessions.sql(`INSERT INTO stint.revision SELECT * FROM kept_revisions`)
  await sessions.sql(`DELETE FROM stint.journal`)
  await sessions.sql(`UPDATE stint.session SET head_seq = 0, head_sum = ''`)
  expect(await finds()).toBe('damaged')
})

test('a log that was cut together with the row of the session is found by the close, and by the snapshot', async () => {
  const cut = async () => {
    await sessions.sql('DELETE FROM stint.journal WHERE seq > 3')
    await sessions.sql(
      `UPDATE stint.session SET head_seq = 3, head_sum = (SELECT left(right(line, 10), 8) FROM stint.journal WHERE seq = 3)`,
    )
  }
  await create()
  await cut()
  await sessions.sql('CREATE TABLE kept_snapshots AS SELECT * FROM stint.state')
  await sessions.sql('DELETE FROM stint.state')
  expect((await health()).journal.findings).toEqual(['it ends at record 3, and 5 is attested'])
  await sessions.sql('INSERT INTO stint.state SELECT * FROM kept_snapshots')
  await sessions.sql('DELETE FROM stint.revision WHERE rev > 1')
  expect((await health()).journal.findings).toEqual(['it ends at record 3, and 5 is attested'])
})

test('damage that was found keeps writers out until it is gone, even if it is before the last snapshot', async () => {
  await create()
  const [row] = await sessions.sql('SELECT line FROM stint.journal WHERE seq = 2')
  await change('journal', 2)
  await new PostgresMedium({ pool: sessions.pool }).noteDamage('mine', 'found by a test')
  const damaged = { code: 'JOURNAL_CORRUPT' }
  await expect(sessions.store.resume('mine')).rejects.toMatchObject(damaged)
  await expect(sessions.store.visit('mine', (visit) => visit.append({ type: 'note' }))).rejects.toMatchObject(
    damaged,
  )
  await sessions.sql('UPDATE stint.journal SET line = $1 WHERE seq = 2', row?.line)
  await (await sessions.store.resume('mine')).close()
  expect(await sessions.store.list()).toMatchObject([{ state: 'closed' }])
})

test('a missing or changed blob is named, and the journal counts as intact', async () => {
  await create()
  const [row] = await sessions.sql('SELECT sha256 FROM stint.blob')
  await sessions.sql(`UPDATE stint.blob SET content = replace(content, 'xx', 'xy')`)
  expect(await health()).toMatchObject({ ok: false, blobs: [row?.sha256], journal: { state: 'whole' } })
  await sessions.sql('DELETE FROM stint.blob')
  expect(await health()).toMatchObject({ ok: false, blobs: [row?.sha256] })
  await expect(sessions.data('mine')).rejects.toMatchObject({ code: 'BLOB_MISSING' })
})

test.each(['{', '[]', '{"created_at":7}'])(
  'a session with the manifest %s is listed as damaged, and the others are listed, too',
  async (manifest) => {
    await create()
    await create('other')
    await sessions.sql(`UPDATE stint.session SET manifest = $1 WHERE id = 'mine'`, manifest)
    const list = await sessions.store.list()
    expect(Object.fromEntries(list.map(({ id, state }) => [id, state]))).toEqual({
      mine: 'damaged',
      other: 'closed',
    })
    await expect(sessions.store.resume('mine')).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' })
  },
)

test('records beyond the end are not read, and not overwritten', async () => {
  await create()
  await sessions.sql(`INSERT INTO stint.journal SELECT session, 6, line FROM stint.journal WHERE seq = 5`)
  expect((await health()).journal).toMatchObject({ state: 'whole', lastSeq: 5 })
  const session = await sessions.store.resume('mine')
  await expect(session.append({ type: 'note' })).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' })
})

test('a fork of a damaged session has its intact part', async () => {
  await create()
  await change('journal', 5)
  // With and without the last intact record given.
  await sessions.sql('DELETE FROM stint.state')
  await expect(sessions.store.fork('mine', { at: 4, id: 'copy' })).resolves.toMatchObject({ lastSeq: 4 })
  await expect(sessions.store.fork('mine', { id: 'another' })).resolves.toMatchObject({ lastSeq: 4 })
  await expect(sessions.store.fork('mine', { at: 5 })).rejects.toMatchObject({ code: 'ARG_ERROR' })
  for (const id of ['copy', 'another']) expect(await sessions.isWhole(id)).toBe(true)
  // A recovery does not read before the last snapshot; a record that is missing there is found while copying.
  await create('gap')
  await sessions.sql(
    'DELETE FROM stint.journal WHERE seq = 3 AND session = (SELECT max(key) FROM stint.session)',
  )
  await expect(sessions.store.fork('gap')).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' })
  expect(await sessions.store.list()).toHaveLength(4)
})

test.each([
  ['changed', (seq: number) => change('audit', seq)],
  ['missing', (seq: number) => sessions.sql('DELETE FROM stint.audit WHERE seq = $1', seq)],
])('a fork that needs a %s audit line is refused, and one that ends before it is not', async (_, damage) => {
  await create()
  await damage(3)
  // With a snapshot, a recovery reads only what came after it; without one, it reads everything.
  for (const id of ['with-snapshot', 'without']) {
    const damaged = { code: 'AUDIT_CORRUPT' }
    await expect(sessions.store.fork('mine', { id })).rejects.toMatchObject(damaged)
    await expect(sessions.store.fork('mine', { id, at: 4 })).rejects.toMatchObject(damaged)
    await using fork = await sessions.store.fork('mine', { id, at: 2 })
    expect(fork.lastSeq).toBe(2)
    expect(await sessions.isWhole(id)).toBe(true)
    await sessions.sql('DELETE FROM stint.state')
  }
})

test('a snapshot with a changed byte is ignored', async () => {
  await create()
  await sessions.sql(`UPDATE stint.state SET content = replace(content, '"turns":0', '"turns":7')`)
  await using session = await sessions.store.resume('mine')
  expect(session.report).toMatchObject({ snapshot: undefined, replayed: 5 })
  expect(session.turns).toBe(0)
})
