import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PostgresServer } from '../../../test/support/postgres.ts'
import { PostgresSessions } from '../../../test/support/postgres-sessions.ts'
import { dataOf, errorOf, jsonLines, SessionWorld } from '../../../test/support/session-world.ts'
import { stintBin, until } from '../../../test/support/world.ts'
import { filesystemStore } from '../../session/files/medium.ts'

let server: PostgresServer
let sessions: PostgresSessions
let world: SessionWorld
beforeAll(async () => {
  server = await PostgresServer.start()
  sessions = await PostgresSessions.on(server)
  world = new SessionWorld()
  world.env.STINT_STORE = server.url({ database: sessions.database })
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await sessions[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

test('every sessions command works on the server that STINT_STORE names', async () => {
  const run = (command: string, ...args: string[]) => world.run(command, ...args)
  const created = await run(
    'append',
    'nightly',
    '--create',
    '--type',
    'note',
    '--data',
    '{"n":1}',
    '--title',
    'T',
  )
  expect(dataOf(created)).toEqual({ session_id: 'nightly', type: 'note', seq: 1 })
  expect((await run('append', 'night', '--type', 'note', '--data', '{"n":2}')).code).toBe(0)
  expect(dataOf(await run('list'))).toMatchObject({
    total: 1,
    sessions: [{ session_id: 'nightly', state: 'closed', title: 'T', records: 2 }],
  })
  expect(dataOf(await run('show', 'nightly'))).toMatchObject({ records: 2, path: null })
  expect(jsonLines((await run('tail', 'nightly', '-n', 'all')).stdout)).toMatchObject([
    { data: { n: 1 } },
    { data: { n: 2 } },
  ])
  expect(jsonLines((await run('tail', 'nightly', '-n', '1')).stdout)).toMatchObject([{ data: { n: 2 } }])
  expect(dataOf(await run('fork', 'nightly', '--at', '1', '--id', 'copy'))).toMatchObject({ records: 1 })
  expect(dataOf(await run('verify', '--all'))).toMatchObject({ checked: 2, damaged: 0 })
  expect(dataOf(await world.audit('verify', 'nightly'))).toMatchObject({ session_id: 'nightly' })
  expect(jsonLines((await run('search', '"n":2')).stdout)).toMatchObject([{ session_id: 'nightly', seq: 2 }])
  expect(dataOf(await run('rm', 'copy', '--yes'))).toMatchObject({ session_id: 'copy', trash: null })
  expect(errorOf(await run('show', 'copy'))).toMatchObject({ code: 'NOT_FOUND' })
  expect(dataOf(await run('restore')).trash).toMatchObject([{ session_id: 'copy' }])
  expect(dataOf(await run('restore', 'copy')).restored).toEqual(['copy'])
  expect(dataOf(await run('show', 'copy'))).toMatchObject({ state: 'closed', records: 1 })
  expect(dataOf(await run('unlock', 'copy'))).toMatchObject({ unlocked: false })
  expect(dataOf(await run('prune', '--keep', '1', '--yes'))).toMatchObject({ kept: 1 })
  // None of these commands has touched the files.
  expect(await world.store.list()).toEqual([])
})

test('list --sort size shows the largest sessions on the server first', async () => {
  const session = await sessions.store.create({ id: 'travels' })
  await session.append({ type: 'note', data: { text: 'grüße "x"' } })
  await session.append({ type: 'large', data: 'y'.repeat(300_000) })
  await session.close()
  const { sessions: listed } = dataOf(await world.run('list', '--sort', 'size', '--all')) as {
    sessions: { session_id: string; disk_bytes: number }[]
  }
  expect(listed[0]).toMatchObject({ session_id: 'travels' })
  const sizes = listed.map(({ disk_bytes }) => disk_bytes)
  expect(sizes).toEqual(sizes.toSorted((a, b) => b - a))
})

test('run --record records on the server', async () => {
  const run = await world.stint(['run', '--record', '--session', 'recorded', '--', 'true'], {
    cwd: world.tmp,
  })
  expect(run).toMatchObject({ code: 0, stderr: '' })
  expect(dataOf(await world.audit('show', 'recorded'))).toMatchObject({
    acts: [{ action: 'run', state: 'done' }],
  })
  expect(await sessions.isWhole('recorded')).toBe(true)
  const stray = await world.stint(['run', '--store', 'files', '--json', '--', 'true'])
  expect(errorOf(stray)).toMatchObject({ code: 'ARG_ERROR', message: '--store goes with --lock or --record' })
})

test('tail -f prints the events of another process until the session is removed', async () => {
  const session = await sessions.store.create({ id: 'followed' })
  const tail = world.start(process.execPath, [
    stintBin,
    'sessions',
    'tail',
    'followed',
    '-f',
    '-n',
    '10',
    '--json',
  ])
  await session.append({ type: 'note', data: 'one' })
  await until('the event is printed', () => tail.output().stdout.includes('one'))
  await session.append({ type: 'note', data: 'two' })
  await until('the next event is printed', () => tail.output().stdout.includes('two'))
  await session.close()
  await sessions.store.remove('followed')
  expect(await tail.finished).toMatchObject({ code: 5 })
})

test('the holder of a session is named, and unlock takes the session away from it', async () => {
  const session = await sessions.store.create({ id: 'held', purpose: 'a test' })
  const visited = await world.run('append', 'held', '--type', 'note', '--data', '"left"')
  expect(errorOf(visited)).toMatchObject({ code: 'SESSION_LOCKED' })
  expect(dataOf(await world.run('show', 'held'))).toMatchObject({ holder: { purpose: 'a test' } })
  expect(errorOf(await world.run('rm', 'held', '--yes'))).toMatchObject({
    code: 'SESSION_LOCKED',
    message: expect.stringContaining(`pid ${process.pid}`) as string,
  })
  expect(dataOf(await world.run('unlock', 'held', '--yes'))).toMatchObject({ unlocked: true })
  await expect(session.append({ type: 'note' })).rejects.toMatchObject({ code: 'FENCED' })
})

test('copy copies a session between files and the server, verified, under an id of its own', async () => {
  const toFiles = dataOf(await world.run('copy', 'nightly', '--to', 'files'))
  expect(toFiles).toMatchObject({
    session_id: expect.stringMatching(/^ses_/) as string,
    store: 'filesystem',
    from: { session_id: 'nightly', store: 'postgres' },
    records: 2,
  })
  const copy = await world.store.inspect(String(toFiles.session_id))
  expect((await copy.health()).ok).toBe(true)
  expect(copy.manifest.revisions.at(-1)?.from).toEqual({ session_id: 'nightly', seq: 2, store: 'postgres' })
  const back = dataOf(await world.run('copy', String(toFiles.session_id), '--from', 'files', '--id', 'back'))
  expect(back).toMatchObject({ session_id: 'back', store: 'postgres' })
  expect(await sessions.data('back')).toEqual([{ n: 1 }, { n: 2 }])
  expect(errorOf(await world.run('copy', 'nightly'))).toMatchObject({ code: 'ARG_ERROR' })
  expect(
    errorOf(await world.run('copy', 'nightly', '--to', 'files', '--id', String(toFiles.session_id))),
  ).toMatchObject({ code: 'NAME_TAKEN' })
  expect(errorOf(await world.run('copy', 'nobody', '--to', 'files'))).toMatchObject({ code: 'NOT_FOUND' })
})

test('the error for damage on the server suggests a repair, which copies what is intact', async () => {
  await using other = await PostgresSessions.on(server)
  const session = await other.store.create({ id: 'mine' })
  await session.append({ type: 'kept' })
  await session.append({ type: 'note' })
  await session.audit({ action: 'note' })
  await session.close()
  const env = { STINT_STORE: server.url({ database: other.database }) }
  for (const [table, args] of [
    ['journal', ['sessions', 'verify', 'mine']],
    ['audit', ['audit', 'verify', 'mine']],
    ['audit', ['audit', 'show', 'mine']],
  ] as const) {
    await other.sql(`UPDATE stint.${table} SET line = replace(line, '"note"', '"fake"')`)
    const found = await world.stint([...args, '--json'], { env })
    expect([found.code, errorOf(found)?.suggestion]).toEqual([4, expect.stringContaining('sessions repair')])
  }
  const repaired = await world.stint(['sessions', 'repair', 'mine', '--json'], { env })
  const {
    session_id: copy,
    journal,
    audit,
  } = dataOf(repaired) as {
    session_id: string
    journal: { records: number; missing: object[] }
    audit: { records: number }
  }
  expect([journal.records, journal.missing, audit.records]).toEqual([1, [{ from: 2, to: 2 }], 0])
  await using resumed = await other.store.resume(copy)
  expect(resumed.lastSeq).toBe(1)
})

test('verify fails if the server cannot read a session', async () => {
  await using other = await PostgresSessions.on(server)
  const session = await other.store.create({ id: 'mine' })
  await session.append({ type: 'note' })
  await session.close()
  await other.sql('ALTER TABLE stint.journal RENAME TO kept')
  await other.sql('CREATE VIEW stint.journal AS SELECT * FROM stint.kept WHERE seq / 0 = 1')
  const env = { STINT_STORE: server.url({ database: other.database }) }
  const verified = await world.stint(['sessions', 'verify', '--all', '--json'], { env })
  expect([verified.code, errorOf(verified)?.message]).toEqual([
    1,
    expect.stringContaining('division by zero'),
  ])
})

test('purge deletes removed sessions, and needs --yes', async () => {
  const purge = (...args: string[]) => world.stint(['postgres', 'purge', ...args, '--json'])
  expect(errorOf(await purge())).toMatchObject({ code: 'ARG_ERROR' })
  expect(dataOf(await purge('--yes'))).toEqual({ sessions: 0, records: 0, claims: 0 })
  const purged = dataOf(await purge('--older-than', '0s', '--yes'))
  expect(purged.sessions).toBeGreaterThan(0)
  expect(await sessions.sql('SELECT FROM stint.session WHERE removed_at IS NOT NULL')).toEqual([])
})

test('--store takes precedence over STINT_STORE, and an unreachable server is POSTGRES_UNAVAILABLE', async () => {
  await filesystemStore({ home: world.home })
    .create({ id: 'in-files' })
    .then((session) => session.close())
  expect(dataOf(await world.run('list', '--store', 'files')).sessions).toMatchObject([
    {},
    { session_id: expect.any(String) as string },
  ])
  const away = `postgres://me:secret-word@/x?host=${join(world.tmp, 'nowhere')}`
  world.env.STINT_STORE = away
  for (const [command, ...args] of [
    ['list'],
    ['show', 'x'],
    ['verify', '--all'],
    ['append', 'x', '--type', 'a'],
  ] as const) {
    const failed = await world.run(command, ...args)
    expect(failed).toMatchObject({ code: 12 })
    expect(failed.stdout + failed.stderr).not.toContain('secret-word')
    expect(errorOf(failed)).toMatchObject({ code: 'POSTGRES_UNAVAILABLE' })
  }
})
