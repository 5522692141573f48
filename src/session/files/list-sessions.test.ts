import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SessionWorld } from '../../../test/support/session-world.ts'
import { projectRoot } from '../../../test/support/world.ts'
import { type Disk, nodeDisk } from '../../base/fs/disk.ts'
import { systemClock } from '../../base/process/clock.ts'
import { ulid } from '../../base/text/id.ts'
import type { SessionStore, SessionSummary } from '../store.ts'
import { FilesMedium, filesystemStore } from './medium.ts'
import { listSessions } from './list-sessions.ts'

let world: SessionWorld
let sessions: string
let store: SessionStore
beforeEach(() => {
  world = new SessionWorld()
  ;({ sessions, store } = world)
})
afterEach(() => world[Symbol.asyncDispose]())

/** Sorted, and without keys that have no value, so that a difference stands out. */
const byId = (listed: readonly SessionSummary[]): SessionSummary[] =>
  (JSON.parse(JSON.stringify(listed)) as SessionSummary[]).sort((a, b) => (a.id < b.id ? -1 : 1))

const hasManifest = (id: string): boolean => existsSync(world.path(id, 'manifest.json'))

/** The summaries of all sessions that have a manifest, each read by itself. */
const eachInspected = async (): Promise<SessionSummary[]> =>
  byId(
    await Promise.all(
      readdirSync(sessions)
        .filter(hasManifest)
        .map(async (id) => (await store.inspect(id)).summary),
    ),
  )

async function make(...ids: string[]): Promise<void> {
  for (const id of ids) {
    await using session = await store.create({
      id,
      tool: 'test',
      title: `about ${id}`,
      workspace: `/w/${id}`,
    })
    await session.append({ type: 'note', data: id })
  }
}

const hourMs = 3_600_000

/** Uses a store whose clock is behind. */
async function doAgo(agoMs: number, use: (earlier: SessionStore) => Promise<unknown>): Promise<void> {
  const clock = { ...systemClock, now: () => Date.now() - agoMs }
  await use(filesystemStore({ home: world.home, clock }))
}

/** What lists are told of a session: the end of a name in `.recent/`. */
const activitiesOf = (id: string): string[] =>
  readdirSync(world.path('.recent')).flatMap((name) => (name.startsWith(`${id}@`) ? [name] : []))

function setActivity(id: string, agoMs: number, isHeld: boolean): void {
  for (const name of activitiesOf(id)) rmSync(world.path('.recent', name))
  // A holder may have written for two intervals of its heartbeat.
  writeFileSync(world.path('.recent', `${id}@${Date.now() - agoMs + (isHeld ? 60_000 : 0)}`), '')
}

/** Makes closed sessions, each with one record that many milliseconds ago. */
async function makeAgo(agesMs: Readonly<Record<string, number>>): Promise<void> {
  for (const [id, agoMs] of Object.entries(agesMs))
    await doAgo(agoMs, async (earlier) => {
      await using session = await earlier.create({ id, tool: id.startsWith('b') ? 'other' : 'test' })
      await session.append({ type: 'note' })
    })
}

/** The ids of the newest sessions, and of those whose files the list has opened. */
async function listNewest(newest: number, filter = {}): Promise<{ listed: string[]; opened: string[] }> {
  const opened = new Set<string>()
  const disk: Disk = {
    ...nodeDisk,
    openToRead(path) {
      opened.add(path.slice(sessions.length + 1).split('/', 1)[0] ?? '')
      return nodeDisk.openToRead(path)
    },
  }
  const listed = byId(await listSessions(disk, sessions, { newest, ...filter })).map(({ id }) => id)
  return { listed, opened: [...opened].toSorted() }
}

test('a list shows what sessions are, and what was done to them since the last list', async () => {
  await make('a', 'b', 'c')
  expect(byId(await store.list())).toMatchObject([
    { id: 'a', state: 'closed', tool: 'test', title: 'about a', workspace: '/w/a', records: 1 },
    { id: 'b' },
    { id: 'c' },
  ])
  await store.visit('b', (visit) => visit.append({ type: 'visit' }))
  const session = await store.resume('c')
  await session.annotate({ title: 'new' })
  await store.remove('a')
  expect(byId(await store.list())).toMatchObject([
    { id: 'b', records: 2 },
    { id: 'c', state: 'active', title: 'new' },
  ])
  await session.close()
  expect(byId(await store.list())).toMatchObject([{ id: 'b' }, { id: 'c', state: 'closed', title: 'new' }])
})

test('the newest sessions are found without opening those that are older', async () => {
  await makeAgo({ a: 4 * hourMs, b: hourMs, c: 3 * hourMs, d: 2 * hourMs, e: 5 * hourMs })
  expect(await listNewest(2)).toEqual({ listed: ['b', 'd'], opened: ['b', 'd'] })
  expect(await listNewest(0)).toEqual({ listed: [], opened: [] })
  expect((await listNewest(9)).listed).toEqual(['a', 'b', 'c', 'd', 'e'])
  const ids = async (newest: number): Promise<string[]> => (await store.list({ newest })).map(({ id }) => id)
  expect(await ids(3)).toEqual(['b', 'd', 'c'])
})

test('the newest sessions that match a filter are found, and others do not count', async () => {
  await makeAgo({ a: 4 * hourMs, b: hourMs, c: 3 * hourMs, d: 2 * hourMs, e: 5 * hourMs })
  expect(await listNewest(2, { tool: 'test' })).toEqual({ listed: ['c', 'd'], opened: ['b', 'c', 'd'] })
  expect(await listNewest(2, { prefix: 'a' })).toEqual({ listed: ['a'], opened: ['a'] })
})

test('whatever writes to an old session makes it the newest: a visit, a writer, and a fork', async () => {
  await makeAgo({ a: 4 * hourMs, b: hourMs, c: 3 * hourMs })
  await doAgo(hourMs / 2, (earlier) => earlier.visit('c', (visit) => visit.append({ type: 'visit' })))
  expect(await listNewest(1)).toEqual({ listed: ['c'], opened: ['c'] })

  const writer = await world.hold('a')
  await writer.write(1)
  expect(await listNewest(1)).toEqual({ listed: ['a'], opened: ['a'] })
  writer.child.kill('SIGKILL')
  await writer.finished
  expect(await listNewest(1)).toEqual({ listed: ['a'], opened: ['a'] })
  await doAgo(2 * hourMs, async (earlier) => await (await earlier.resume('a')).close())

  const fork = await store.fork('b', { id: 'd' })
  await fork.append({ type: 'note' })
  await fork.close()
  expect(await listNewest(1)).toMatchObject({ listed: ['d'] })
})

test('a session that was held long after its last record is not newer for that', async () => {
  await makeAgo({ a: 2 * hourMs, b: hourMs })
  await (await store.resume('a')).close()
  expect(await listNewest(1)).toEqual({ listed: ['b'], opened: ['b'] })
  const holder = await world.hold('a')
  expect(await listNewest(1)).toEqual({ listed: ['b'], opened: ['a', 'b'] })
  await holder.close()
})

test('a session that is unknown in `.recent`, or has several names there, is listed where it belongs', async () => {
  await makeAgo({ a: 3 * hourMs, b: 2 * hourMs, c: hourMs })
  rmSync(world.path('.recent'), { recursive: true })
  expect((await listNewest(1)).listed).toEqual(['c'])
  await doAgo(hourMs / 2, (earlier) => earlier.visit('a', (visit) => visit.append({ type: 'visit' })))
  expect(await listNewest(1)).toMatchObject({ listed: ['a'] })
  writeFileSync(world.path('.recent', 'a@5'), '')
  writeFileSync(world.path('.recent', 'odd'), '')
  expect(await listNewest(1)).toMatchObject({ listed: ['a'] })
  expect(activitiesOf('a')).toHaveLength(2)
})

test('a record that follows the last heartbeat of a killed writer counts', async () => {
  await makeAgo({ a: 20_000, b: hourMs })
  const writer = await world.hold('b')
  await writer.write(1)
  writer.child.kill('SIGKILL')
  await writer.finished
  // As if its last heartbeat had come half a minute before the record.
  setActivity('b', 30_000, true)
  expect((await listNewest(1)).listed).toEqual(['b'])
})

test('a list refuses a number of sessions that is none', async () => {
  for (const newest of [-1, 1.5, Number.NaN, '3' as unknown as number])
    await expect(store.list({ newest })).rejects.toMatchObject({ code: 'ARG_ERROR' })
})

test('a list leaves no file open', async () => {
  await make('a', 'b', 'c')
  const before = readdirSync('/proc/self/fd').length
  for (let i = 0; i < 2; i++) expect(await store.list()).toHaveLength(3)
  expect(readdirSync('/proc/self/fd')).toHaveLength(before)
})

test('a list of a missing home is empty and creates nothing', async () => {
  expect(await store.list()).toEqual([])
  expect(existsSync(world.home)).toBe(false)
})

test('a change by another process shows in the next list', async () => {
  await make('a')
  const other = await world.hold('a', 'work on it')
  expect(await store.list()).toMatchObject([{ state: 'active', holder: { purpose: 'work on it' } }])
  await other.write(2)
  expect(await store.list()).toMatchObject([{ state: 'active', records: 3 }])
  await other.close()
  expect(await store.list()).toMatchObject([{ state: 'closed', records: 3 }])
})

test('a session whose writer was killed is listed as crashed, until it is resumed', async () => {
  await make('a')
  const other = await world.hold('a')
  await other.write(1)
  other.child.kill('SIGKILL')
  await other.finished
  expect(await store.list()).toMatchObject([
    { id: 'a', state: 'crashed', records: 2, holder: { kind: 'writer' } },
  ])
  await using session = await store.resume('a')
  expect(await store.list()).toMatchObject([
    { id: session.id, state: 'active', holder: { process: { pid: process.pid } } },
  ])
})

test('a writer that is killed at the moment it takes the lock is listed as crashed', async () => {
  await make('a')
  const program = join(world.tmp, 'killed.mjs')
  writeFileSync(
    program,
    `import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { linkSync } = fs
    fs.linkSync = (staged, path) => {
      linkSync(staged, path)
      if (path.includes('/a/lock/')) process.kill(process.pid, 'SIGKILL')
    }
    syncBuiltinESMExports()
    const { filesystemStore } = await import(${JSON.stringify(join(projectRoot, 'dist/index.js'))})
    await filesystemStore().visit('a', () => console.log('still alive'))`,
  )
  const { signal, stdout } = await world.start(process.execPath, [program]).finished
  expect([signal, stdout]).toEqual(['SIGKILL', ''])
  expect(await store.list()).toMatchObject([{ id: 'a', state: 'crashed', records: 1 }])
})

test('a session that is removed while a list reads another one is left out', async () => {
  await makeAgo({ a: 3 * hourMs, b: 2 * hourMs, c: hourMs })
  const disk: Disk = {
    ...nodeDisk,
    openToRead(path) {
      // The list reads the newest first.
      if (path.startsWith(world.path('c'))) rmSync(world.path('b'), { recursive: true, force: true })
      return nodeDisk.openToRead(path)
    },
  }
  expect(byId(await listSessions(disk, sessions))).toMatchObject([{ id: 'a' }, { id: 'c' }])
})

test('damage that a reader has noted shows in the next list', async () => {
  await make('a')
  await new FilesMedium({ home: world.home }).noteDamage('a', 'record 1 is missing')
  expect(await store.list()).toMatchObject([{ state: 'damaged' }])
})

test('a list writes nothing, and works in a home that is read-only', async () => {
  await make('a', 'b')
  const code = `import { filesystemStore } from ${JSON.stringify(join(projectRoot, 'dist/index.js'))}
    console.log((await filesystemStore().list()).map(({ id, state }) => id + ' ' + state).sort().join())`
  const script = `mount --bind ${world.home} ${world.home} && mount -o remount,ro,bind ${world.home} && exec "$@"`
  const command = [process.execPath, '--input-type=module', '-e', code]
  const changes = (): [string, number][] =>
    readdirSync(world.home, { recursive: true, encoding: 'utf8' })
      .toSorted()
      .map((name) => [name, lstatSync(join(world.home, name)).ctimeMs])
  const before = changes()
  const { stdout, stderr } = await world.unshare(['--mount'], 'sh', ['-c', script, 'sh', ...command])
  expect([stdout, stderr]).toEqual(['a closed,b closed\n', ''])
  for (const newest of [undefined, 1]) await store.list({ newest })
  expect(changes()).toEqual(before)
})

test('a list deletes nothing, not even a staging directory whose maker is dead', async () => {
  await make('a')
  const staged = world.path(`.new-2147483646-${ulid()}`)
  mkdirSync(staged)
  await store.list()
  expect(existsSync(staged)).toBe(true)
})

test('a session whose manifest cannot be read is listed as damaged; other directories are not listed', async () => {
  await make('broken', 'gone', 'fine')
  writeFileSync(world.path('broken', 'manifest.json'), '{"schema":1')
  rmSync(world.path('gone', 'manifest.json'))
  mkdirSync(world.path('empty'))
  writeFileSync(world.path('notes.txt'), '')
  symlinkSync(world.path('fine'), world.path('link'))
  for (const newest of [undefined, 3])
    expect(byId(await store.list({ newest }))).toMatchObject([
      { id: 'broken', state: 'damaged' },
      { id: 'fine', state: 'closed' },
      { id: 'gone', state: 'damaged' },
    ])
})

test('whatever sessions do, lists are right, and the newest are the first of all', async () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd')
  const agoMs = fc.integer({ min: 0, max: 20 }).map((minutes) => minutes * 60_000)
  const step = fc.oneof(
    fc.record({ do: fc.constant('create' as const), id, agoMs }),
    fc.record({ do: fc.constant('use' as const), id, agoMs }),
    fc.record({ do: fc.constant('annotate' as const), id, agoMs }),
    fc.record({ do: fc.constant('visit' as const), id, agoMs }),
    fc.record({ do: fc.constant('fork' as const), id, to: id, agoMs }),
    fc.record({ do: fc.constant('remove' as const), id, agoMs }),
    fc.record({ do: fc.constant('note damage' as const), id, agoMs }),
  )
  await make('first')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      for (const name of readdirSync(sessions)) rmSync(world.path(name), { recursive: true })
      for (const each of steps.toSorted((a, b) => b.agoMs - a.agoMs)) {
        try {
          await doAgo(each.agoMs, async (earlier) => {
            if (each.do === 'create') await (await earlier.create({ id: each.id, title: ulid() })).close()
            if (each.do === 'use') {
              await using session = await earlier.resume(each.id)
              await session.append({ type: 'note' })
              await session.turn()
            }
            if (each.do === 'annotate') {
              await using session = await earlier.resume(each.id)
              await session.annotate({ title: ulid() })
            }
            if (each.do === 'visit') await earlier.visit(each.id, (visit) => visit.append({ type: 'visit' }))
            if (each.do === 'fork')
              await (await earlier.fork(each.id, { id: each.to, title: ulid() })).close()
            if (each.do === 'remove') await earlier.remove(each.id)
            if (each.do === 'note damage' && existsSync(world.path(each.id)))
              await new FilesMedium({ home: world.home }).noteDamage(each.id, 'a record')
          })
        } catch (error) {
          expect(['NOT_FOUND', 'NAME_TAKEN']).toContain((error as { code?: string }).code)
        }
        const all = await store.list()
        expect(byId(all)).toEqual(await eachInspected())
        for (const newest of [1, 2, 3]) expect(await store.list({ newest })).toEqual(all.slice(0, newest))
      }
    }),
    { numRuns: 15 },
  )
})

test('every list is right while several processes use a few sessions, list them and are killed', async () => {
  const worker = join(projectRoot, 'test/fixtures/session-worker.mjs')
  mkdirSync(world.home, 0o700)
  for (let wave = 0; wave < 3; wave++) {
    const workers = [1, 2, 3, 4].map((seed) =>
      world.start(process.execPath, [worker, world.home, String(wave * 100 + seed), '40']),
    )
    const ends = Promise.all(workers.map(({ finished }) => finished))
    const running = (): boolean => workers.some(({ child }) => (child.exitCode ?? child.signalCode) === null)
    while (running()) {
      await listSessions(nodeDisk, sessions)
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (const { stdout, stderr, signal } of await ends)
      expect(signal === 'SIGKILL' ? 'DONE\n' : stdout + stderr).toBe('DONE\n')
    // A process that opens a session while another one removes it may leave a directory with only a lock.
    const listed = (await store.list()).filter(({ id }) => hasManifest(id))
    expect(byId(listed)).toEqual(await eachInspected())
  }
  expect((await eachInspected()).length).toBeGreaterThan(0)
})
