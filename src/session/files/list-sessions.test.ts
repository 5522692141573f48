import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SessionWorld } from '../../../test/support/session-world.ts'
import { isRunning, projectRoot, until } from '../../../test/support/world.ts'
import { replaceFile } from '../../base/fs/atomic-file.ts'
import { type Disk, nodeDisk } from '../../base/fs/disk.ts'
import { sleep } from '../../base/process/clock.ts'
import { thisMachine } from '../../base/process/platform.ts'
import { ulid } from '../../base/text/id.ts'
import { verifiedText, withChecksum } from '../log/line-checksum.ts'
import type { SessionStore, SessionSummary } from '../store.ts'
import { FilesystemDriver } from './driver.ts'
import { ListCache, markHold, stampOfNames } from './list-cache.ts'
import { listSessions, RepeatedList } from './list-sessions.ts'

let world: SessionWorld
let sessions: string
let cache: string
let summaries: string
let store: SessionStore
beforeEach(() => {
  world = new SessionWorld()
  ;({ sessions, store } = world)
  cache = join(sessions, '.cache')
  summaries = join(cache, 'summaries.json')
})
afterEach(() => world[Symbol.asyncDispose]())

/** Sorted, and without keys that have no value, so that a difference stands out. */
const byId = (listed: readonly SessionSummary[]): SessionSummary[] =>
  (JSON.parse(JSON.stringify(listed)) as SessionSummary[]).sort((a, b) => (a.id < b.id ? -1 : 1))

/** A list that uses no cache. */
const uncached = async (): Promise<SessionSummary[]> =>
  byId(await listSessions(nodeDisk, sessions, new ListCache(join(world.tmp, 'none'))))

/** A list, and how many files of sessions it has opened. */
async function countOpens(): Promise<{ listed: SessionSummary[]; opened: number }> {
  let opened = 0
  const disk: Disk = {
    ...nodeDisk,
    openToRead(path) {
      opened += 1
      return nodeDisk.openToRead(path)
    },
  }
  return { listed: byId(await listSessions(disk, sessions)), opened }
}

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

test('the second list opens no session that has not changed', async () => {
  await make('a', 'b', 'c')
  expect((await countOpens()).opened).toBeGreaterThan(0)
  const { listed, opened } = await countOpens()
  expect(opened).toBe(0)
  expect(listed).toEqual(await uncached())
  expect(listed).toMatchObject([
    { id: 'a', state: 'closed', tool: 'test', title: 'about a', records: 1 },
    { id: 'b' },
    { id: 'c' },
  ])
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

test('a list opens the sessions that have changed since the last, and no other', async () => {
  await make('a', 'b', 'c')
  await store.list()
  await store.visit('b', (visit) => visit.append({ type: 'visit' }))
  const visited = await countOpens()
  expect(visited.opened).toBeGreaterThan(0)
  expect(visited.listed[1]).toMatchObject({ id: 'b', records: 2 })
  expect((await countOpens()).opened).toBe(0)

  const session = await store.resume('c')
  expect((await countOpens()).listed[2]).toMatchObject({ id: 'c', state: 'active', title: 'about c' })
  await session.annotate({ title: 'new' })
  expect((await countOpens()).listed[2]).toMatchObject({ state: 'active', title: 'new' })
  await session.close()
  expect((await countOpens()).listed[2]).toMatchObject({ state: 'closed', title: 'new' })
  expect((await countOpens()).opened).toBe(0)

  await store.remove('a')
  expect(await countOpens()).toMatchObject({ opened: 0, listed: [{ id: 'b' }, { id: 'c' }] })
})

test('a change by another process shows in the next list', async () => {
  await make('a')
  await store.list()
  const other = await world.hold('a', 'work on it')
  expect((await countOpens()).listed).toMatchObject([{ state: 'active', holder: { purpose: 'work on it' } }])
  await other.write(2)
  expect((await countOpens()).listed).toMatchObject([{ state: 'active', records: 3 }])
  await other.close()
  expect((await countOpens()).listed).toMatchObject([{ state: 'closed', records: 3 }])
})

/** A list that is made again and again, and how often it has read the names of all sessions. */
function repeatedList(): { list: () => Promise<SessionSummary[]>; namesRead: () => number } {
  let namesRead = 0
  const disk: Disk = {
    ...nodeDisk,
    list(path) {
      if (path === sessions) namesRead += 1
      return nodeDisk.list(path)
    },
  }
  const repeated = new RepeatedList(disk, sessions)
  return { list: async () => byId(await repeated.list()), namesRead: () => namesRead }
}

/** Waits until a directory that does not change can be told from one that has changed in the same tick. */
const untilSettled = (): Promise<void> =>
  until('the last change of a name is old enough', () => stampOfNames(sessions) !== undefined)

test('a list that is repeated reads no names while none has changed, and shows every change all the same', async () => {
  await make('a', 'b')
  const writer = await world.hold('c')
  const { list, namesRead } = repeatedList()
  await list()
  await untilSettled()
  expect(await list()).toMatchObject([{ state: 'closed' }, { state: 'closed' }, { id: 'c', state: 'active' }])
  const before = namesRead()
  await writer.write(2)
  expect(await list()).toMatchObject([{ id: 'a' }, { id: 'b' }, { id: 'c', state: 'active', records: 2 }])
  expect(namesRead()).toBe(before)

  writer.child.kill('SIGKILL')
  await writer.finished
  expect(await list()).toMatchObject([{ id: 'a' }, { id: 'b' }, { id: 'c', state: 'crashed', records: 2 }])
  await untilSettled()
  await list()
  await store.visit('b', (visit) => visit.append({ type: 'visit' }))
  expect((await list())[1]).toMatchObject({ id: 'b', records: 2 })
  await make('d')
  await store.remove('a')
  expect(await list()).toEqual(await uncached())
  expect(await list()).toMatchObject([{ id: 'b' }, { id: 'c' }, { id: 'd' }])
})

test('two lists that are repeated at once have all sessions', async () => {
  await make('a', 'b')
  await store.list()
  await untilSettled()
  const { list } = repeatedList()
  expect(await Promise.all([list(), list()])).toMatchObject([
    [{ id: 'a' }, { id: 'b' }],
    [{ id: 'a' }, { id: 'b' }],
  ])
})

test('a list that is repeated reads every session again if their holders cannot set marks', async () => {
  await make('a')
  rmSync(cache, { recursive: true })
  symlinkSync(world.tmp, cache)
  writeFileSync(join(world.tmp, 'summaries.json'), '')
  await untilSettled()
  const { list } = repeatedList()
  await list()
  await store.visit('a', (visit) => visit.append({ type: 'visit' }))
  expect(await list()).toMatchObject([{ id: 'a', records: 2 }])
})

test('a session whose writer was killed is listed as crashed, and then comes from the cache', async () => {
  await make('a')
  await store.list()
  const other = await world.hold('a')
  await other.write(1)
  await store.list()
  other.child.kill('SIGKILL')
  await other.finished
  expect((await countOpens()).listed).toMatchObject([{ id: 'a', state: 'crashed', records: 2 }])
  const { listed, opened } = await countOpens()
  expect(opened).toBe(0)
  expect(listed).toEqual(await uncached())
  expect(listed[0]?.holder?.kind).toBe('writer')
  await using session = await store.resume('a')
  expect((await countOpens()).listed).toMatchObject([
    { id: session.id, state: 'active', holder: { process: { pid: process.pid } } },
  ])
})

test('the next list has the new title of a session whose writer was killed while a list read it', async () => {
  await make('a')
  const writer = await world.hold('a')
  const annotateAndDie = (path: string): void => {
    replaceFile(path, readFileSync(path, 'utf8').replace('about a', 'new'))
    writer.child.kill('SIGKILL')
    while (isRunning(writer.pid)) sleep(1)
  }
  const disk: Disk = {
    ...nodeDisk,
    openToRead(path) {
      const file = nodeDisk.openToRead(path)
      // The list reads the manifest that it has opened, which is the old one now.
      if (path.endsWith('manifest.json') && isRunning(writer.pid)) annotateAndDie(path)
      return file
    },
  }
  expect(await listSessions(disk, sessions)).toMatchObject([{ title: 'about a' }])
  expect((await countOpens()).listed).toMatchObject([{ title: 'new', state: 'crashed' }])
})

test('a writer that is killed at the moment it takes the lock is listed as crashed', async () => {
  await make('a')
  await store.list()
  const program = join(world.tmp, 'killed.mjs')
  writeFileSync(
    program,
    `import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { symlinkSync } = fs
    fs.symlinkSync = (target, path) => {
      symlinkSync(target, path)
      if (path.includes('/a/lock/')) process.kill(process.pid, 'SIGKILL')
    }
    syncBuiltinESMExports()
    const { filesystemStore } = await import(${JSON.stringify(join(projectRoot, 'dist/index.js'))})
    await filesystemStore().visit('a', () => console.log('still alive'))`,
  )
  const { signal, stdout } = await world.start(process.execPath, [program]).finished
  expect([signal, stdout]).toEqual(['SIGKILL', ''])
  expect((await countOpens()).listed).toMatchObject([{ id: 'a', state: 'crashed', records: 1 }])
})

test('a summary that was read while another process annotated the session and died is not kept', async () => {
  await make('a')
  const other = await world.hold('a')
  // The writer revises the manifest and dies after the list has read the lock.
  const disk: Disk = {
    ...nodeDisk,
    openToRead(path) {
      const file = nodeDisk.openToRead(path)
      if (path === world.path('a', 'manifest.json')) {
        const manifest = readFileSync(path, 'utf8').replaceAll('about a', 'renamed')
        writeFileSync(`${path}.new`, manifest)
        rmSync(path)
        copyFileSync(`${path}.new`, path)
        rmSync(`${path}.new`)
        process.kill(other.pid, 'SIGKILL')
      }
      return file
    },
  }
  expect(await listSessions(disk, sessions)).toMatchObject([{ title: 'about a' }])
  await other.finished
  expect(await store.list()).toMatchObject([{ state: 'crashed', title: 'renamed' }])
})

test('damage that a reader has noted shows in the next list', async () => {
  await make('a')
  await store.list()
  await new FilesystemDriver({ home: world.home }).noteDamage('a', 'record 1 is missing')
  expect(await store.list()).toMatchObject([{ state: 'damaged' }])
  expect(await countOpens()).toMatchObject({ opened: 0, listed: [{ state: 'damaged' }] })
})

test('a new session does not get the summary of an earlier one with its id', async () => {
  await make('a')
  await store.list()
  await store.remove('a')
  await (await store.create({ id: 'a', title: 'second' })).close()
  expect(await store.list()).toMatchObject([{ id: 'a', state: 'closed', title: 'second', records: 0 }])
  // Removed by hand, so that the mark and the summary of the second stay in the cache.
  rmSync(world.path('a'), { recursive: true })
  await (await store.create({ id: 'a', title: 'third' })).close()
  expect(byId(await store.list())).toEqual(await uncached())
  expect(await uncached()).toMatchObject([{ title: 'third' }])
})

test('removing a session removes its mark', async () => {
  await make('a', 'b')
  await store.list()
  await store.remove('a')
  expect(readdirSync(cache).filter((name) => name.startsWith('a@'))).toEqual([])
  expect(readdirSync(cache).filter((name) => name.startsWith('b@'))).toHaveLength(1)
})

test('a session keeps one mark, however often it is opened', async () => {
  await make('a')
  for (let i = 0; i < 3; i++) await store.visit('a', (visit) => visit.append({ type: 'visit' }))
  await (await store.resume('a')).close()
  await (await store.fork('a', { id: 'b' })).close()
  expect(
    readdirSync(cache)
      .map((name) => name.replace(/@.*/, ''))
      .toSorted(),
  ).toEqual(['a', 'b'])
})

test('an id that is taken leaves the cache as it was', async () => {
  await make('a')
  await store.list()
  const marks = readdirSync(cache)
  await expect(store.create({ id: 'a' })).rejects.toMatchObject({ code: 'NAME_TAKEN' })
  expect(readdirSync(cache)).toEqual(marks)
  expect((await countOpens()).opened).toBe(0)
})

test('while a process is about to take a session, no summary of it is kept', async () => {
  await make('a')
  const [name = ''] = readdirSync(cache)
  const [, createdAt, holdEpoch] = name.split('@').map(Number)
  markHold({ root: world.path('a'), createdAt: createdAt ?? 0, holdEpoch: (holdEpoch ?? 0) + 2 }, holdEpoch)
  for (let i = 0; i < 3; i++) expect((await countOpens()).opened).toBeGreaterThan(0)
  // The next process to take the session uses the same epoch.
  await (await store.resume('a')).close()
  await store.list()
  expect((await countOpens()).opened).toBe(0)
})

test('a cache that is removed while a session is open is not missed', async () => {
  await make('a')
  await store.list()
  const session = await store.resume('a')
  rmSync(cache, { recursive: true })
  expect(await store.list()).toMatchObject([{ state: 'active' }])
  await session.append({ type: 'note' })
  await session.close()
  expect(byId(await store.list())).toEqual(await uncached())
  expect(await countOpens()).toMatchObject({ opened: 0, listed: [{ records: 2 }] })
})

test('on a full disk, where a session cannot be marked, no list uses the cache', async () => {
  await make('a')
  await store.list()
  const copy = join(world.tmp, 'copy')
  mkdirSync(copy)
  for (const name of readdirSync(cache)) copyFileSync(join(cache, name), join(copy, name))
  const program = join(world.tmp, 'resume.mjs')
  writeFileSync(
    program,
    `import { filesystemStore } from ${JSON.stringify(join(projectRoot, 'dist/index.js'))}
    const store = filesystemStore()
    const session = await store.resume('a')
    console.log((await store.list())[0].state)
    await session.close()
    console.log((await store.list())[0].state)`,
  )
  // The directory has room for neither a byte nor a name.
  const script = `mount -t tmpfs -o size=64k,nr_inodes=8 tmpfs ${cache} && cp "$1"/summaries.json ${cache}/ &&
    for i in 1 2 3 4 5 6 7 8; do (: > ${cache}/$i) 2>/dev/null; done; (cat /dev/zero > ${cache}/1) 2>/dev/null; exec "$2" "$3"`
  const { stdout, stderr } = await world.unshare(['--mount'], 'sh', [
    '-c',
    script,
    'sh',
    copy,
    process.execPath,
    program,
  ])
  expect([stdout, stderr]).toEqual(['active\nclosed\n', ''])
})

test('a list writes nothing but the cache, and a home that is read-only is listed without', async () => {
  await make('a', 'b')
  const code = `import { filesystemStore } from ${JSON.stringify(join(projectRoot, 'dist/index.js'))}
    console.log((await filesystemStore().list()).map(({ id, state }) => id + ' ' + state).sort().join())`
  const script = `mount --bind ${world.home} ${world.home} && mount -o remount,ro,bind ${world.home} && exec "$@"`
  const command = [process.execPath, '--input-type=module', '-e', code]
  const before = readdirSync(sessions, { recursive: true }).toSorted()
  const { stdout, stderr } = await world.unshare(['--mount'], 'sh', ['-c', script, 'sh', ...command])
  expect([stdout, stderr]).toEqual(['a closed,b closed\n', ''])
  expect(readdirSync(sessions, { recursive: true }).toSorted()).toEqual(before)
  await store.list()
  expect(readdirSync(sessions, { recursive: true }).toSorted()).toEqual(
    [...before, join('.cache', 'summaries.json')].toSorted(),
  )
})

test('a list deletes nothing, not even a staging directory whose maker is dead', async () => {
  await make('a')
  const staged = world.path(`.new-2147483646-${ulid()}`)
  mkdirSync(staged)
  await store.list()
  expect(existsSync(staged)).toBe(true)
})

test('the summaries of another boot are not used: a power cut may have undone the marks', async () => {
  await make('a')
  await store.list()
  const text = verifiedText(readFileSync(summaries))?.toString() ?? ''
  const other = text.replace(thisMachine().boot, ulid()).replace('about a', 'stale')
  expect(other).not.toBe(text)
  writeFileSync(summaries, withChecksum(other))
  expect(await countOpens()).toMatchObject({ listed: await uncached() })
  expect((await countOpens()).opened).toBe(0)
})

test('a cache with any byte changed changes no list, and is replaced', async () => {
  await make('a')
  await store.list()
  const whole = readFileSync(summaries)
  const expected = await uncached()
  for (let at = 0; at < whole.length; at++) {
    const bytes = Buffer.from(whole)
    bytes[at] = (bytes[at] as number) ^ (1 << (at % 8))
    writeFileSync(summaries, bytes)
    expect(byId(await store.list())).toEqual(expected)
  }
  expect((await countOpens()).opened).toBe(0)
})

test.each<[string, (file: string) => void]>([
  ['a directory', (file) => mkdirSync(join(file, 'in', 'it'), { recursive: true })],
  ['a link', (file) => symlinkSync('/etc/passwd', file)],
  ['a FIFO', (file) => execFileSync('mkfifo', [file])],
  ['zeros', (file) => writeFileSync(file, Buffer.alloc(5000))],
  ['nothing', (file) => writeFileSync(file, '')],
  ['half of it', (file) => writeFileSync(file, '{"version":1,"boot":"')],
  ['another shape', (file) => writeFileSync(file, withChecksum('{"version":1,"rows":{"a":1}'))],
])('sessions are listed and opened with %s in the place of the cache file', async (_, plant) => {
  await make('a')
  plant(summaries)
  expect(byId(await store.list())).toEqual(await uncached())
  await using session = await store.resume('a')
  expect(await store.list()).toMatchObject([{ id: session.id, state: 'active' }])
  expect(readFileSync('/etc/passwd', 'utf8')).not.toContain('version')
})

test.each<[string, (path: string) => void]>([
  ['a file', (path) => writeFileSync(path, 'x')],
  ['a link', (path) => symlinkSync(world.tmp, path)],
])('%s in the place of the cache directory is left alone', async (_, plant) => {
  await make('a')
  rmSync(cache, { recursive: true })
  plant(cache)
  const before = readdirSync(world.tmp)
  await make('b')
  for (let i = 0; i < 2; i++) expect(byId(await store.list())).toEqual(await uncached())
  expect((await uncached()).map(({ id }) => id)).toEqual(['a', 'b'])
  expect(readdirSync(world.tmp)).toEqual(before)
})

test('the cache is private', async () => {
  await make('a')
  await store.list()
  expect(statSync(cache).mode & 0o777).toBe(0o700)
  for (const name of readdirSync(cache)) expect(statSync(join(cache, name)).mode & 0o777).toBe(0o600)
})

test('a session whose manifest cannot be read is listed as damaged; other directories are not listed', async () => {
  await make('broken', 'gone', 'fine')
  await store.list()
  writeFileSync(world.path('broken', 'manifest.json'), '{"schema":1')
  rmSync(world.path('gone', 'manifest.json'))
  mkdirSync(world.path('empty'))
  writeFileSync(world.path('notes.txt'), '')
  symlinkSync(world.path('fine'), world.path('link'))
  rmSync(cache, { recursive: true })
  for (let i = 0; i < 2; i++)
    expect(byId(await store.list())).toMatchObject([
      { id: 'broken', state: 'damaged' },
      { id: 'fine', state: 'closed' },
      { id: 'gone', state: 'damaged' },
    ])
})

test('whatever sessions do, a list with a cache equals a list without', async () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd')
  const step = fc.oneof(
    fc.record({ do: fc.constant('create' as const), id }),
    fc.record({ do: fc.constant('use' as const), id }),
    fc.record({ do: fc.constant('annotate' as const), id }),
    fc.record({ do: fc.constant('visit' as const), id }),
    fc.record({ do: fc.constant('fork' as const), id, to: id }),
    fc.record({ do: fc.constant('remove' as const), id }),
    fc.record({ do: fc.constant('remove by hand' as const), id }),
    fc.record({ do: fc.constant('hold' as const), id }),
    fc.record({ do: fc.constant('release' as const), id }),
    fc.record({ do: fc.constant('note damage' as const), id }),
    fc.record({ do: fc.constant('remove the cache' as const) }),
    fc.record({ do: fc.constant('damage the cache' as const), at: fc.nat(3000) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      rmSync(world.home, { recursive: true, force: true })
      const held = new Map<string, AsyncDisposable>()
      for (const each of steps) {
        try {
          if (each.do === 'create') await (await store.create({ id: each.id, title: ulid() })).close()
          if (each.do === 'use') {
            await using session = await store.resume(each.id)
            await session.append({ type: 'note' })
            await session.turn()
          }
          if (each.do === 'annotate') {
            await using session = await store.resume(each.id)
            await session.annotate({ title: ulid() })
          }
          if (each.do === 'visit')
            await store.visit(each.id, (visit) => visit.append({ type: 'visit' }), { wait: 0 })
          if (each.do === 'fork') await (await store.fork(each.id, { id: each.to, title: ulid() })).close()
          if (each.do === 'remove') await store.remove(each.id)
          if (each.do === 'remove by hand' && !held.has(each.id))
            rmSync(world.path(each.id), { recursive: true, force: true })
          if (each.do === 'hold') held.set(each.id, await store.resume(each.id))
          if (each.do === 'release') {
            await held.get(each.id)?.[Symbol.asyncDispose]()
            held.delete(each.id)
          }
          if (each.do === 'note damage' && existsSync(world.path(each.id)))
            await new FilesystemDriver({ home: world.home }).noteDamage(each.id, 'a record')
          if (each.do === 'remove the cache') rmSync(cache, { recursive: true, force: true })
          if (each.do === 'damage the cache') flipBit(each.at)
        } catch (error) {
          expect(['SESSION_LOCKED', 'NOT_FOUND', 'NAME_TAKEN']).toContain((error as { code?: string }).code)
        }
        expect(byId(await store.list())).toEqual(await uncached())
      }
      for (const session of held.values()) await session[Symbol.asyncDispose]()
      expect(byId(await store.list())).toEqual(await uncached())
    }),
    { numRuns: 15 },
  )
})

function flipBit(at: number): void {
  if (!existsSync(summaries)) return
  const bytes = readFileSync(summaries)
  if (at >= bytes.length) return
  bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(summaries, bytes)
}

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
    for (let i = 0; i < 2; i++) expect(byId(await store.list())).toEqual(await uncached())
  }
  expect((await uncached()).length).toBeGreaterThan(0)
})
