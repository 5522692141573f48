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
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { projectRoot, World } from '../../../../test/support/world.ts'
import { type Disk, nodeDisk } from '../../../base/fs/disk.ts'
import { ulid } from '../../../base/text/id.ts'
import { thisMachine } from '../../../base/process/platform.ts'
import type { SessionStore, SessionSummary } from '../../store.ts'
import { FilesystemDriver } from '../driver.ts'
import { readManifestFile } from '../find-session.ts'
import { encodeIndexLine } from './index-lines.ts'
import { touchSession } from './index-touch.ts'
import { listSessions } from './list-sessions.ts'
import { sessionPathsIn } from '../paths.ts'
import { SessionIndex } from './session-index.ts'
import { filesystemStore } from '../store.ts'
import { type Look, readSummary } from '../summary.ts'

let world: World
let home: string
let sessions: string
let index: string
let store: SessionStore
beforeEach(() => {
  world = new World()
  home = join(world.tmp, 'home')
  sessions = join(home, 'sessions')
  index = join(sessions, '.index')
  store = filesystemStore({ home })
})
afterEach(() => world[Symbol.asyncDispose]())

/** Without keys that have no value, so that a difference stands out. */
const byId = (summaries: readonly SessionSummary[]): SessionSummary[] =>
  (JSON.parse(JSON.stringify(summaries)) as SessionSummary[]).sort((a, b) => (a.id < b.id ? -1 : 1))

/** What the files of the sessions themselves say. */
const truth = (): SessionSummary[] =>
  byId(listSessions(nodeDisk, sessions, new SessionIndex(join(world.tmp, 'no', 'index'))))

/** So that it is written anew at every chance. */
const eager = (): SessionIndex => new SessionIndex(index, { times: 1, plus: 0 })

async function make(...ids: string[]): Promise<void> {
  for (const id of ids) {
    const session = await store.create({
      id,
      tool: 'test',
      title: `title of ${id}`,
      workspace: `/work/${id}`,
    })
    await session.append({ type: 'note', data: id })
    await session.close()
  }
}

/** A list, and how many files of sessions it has opened. */
async function opensOf(): Promise<{ listed: SessionSummary[]; opened: number }> {
  let opened = 0
  const disk: Disk = {
    ...nodeDisk,
    openToRead(path) {
      opened += 1
      return nodeDisk.openToRead(path)
    },
  }
  const listed = await new FilesystemDriver({ home }, disk).list()
  return { listed: byId(listed), opened }
}

const indexFiles = (): string[] => readdirSync(index).map((name) => join(index, name))

test('sessions that were closed are listed without being opened', async () => {
  await make('a', 'b', 'c')
  const { listed, opened } = await opensOf()
  expect(opened).toBe(0)
  expect(listed).toEqual(truth())
  expect(listed).toMatchObject([
    { id: 'a', state: 'closed', tool: 'test', records: 1 },
    { id: 'b' },
    { id: 'c' },
  ])
})

test('a list leaves no file open', async () => {
  await make('a', 'b', 'c')
  rmSync(index, { recursive: true })
  const before = readdirSync('/proc/self/fd').length
  expect(await store.list()).toHaveLength(3)
  expect(readdirSync('/proc/self/fd')).toHaveLength(before)
})

test('a list of a home that is not there is empty, and makes nothing', async () => {
  expect(await store.list()).toEqual([])
  expect(readdirSync(world.tmp)).toEqual([])
})

test('only what has changed is opened, and once it is at rest, nothing', async () => {
  await make('a', 'b', 'c')
  await store.visit('b', (visit) => visit.append({ type: 'visit' }))
  const first = await opensOf()
  expect(first.opened).toBeGreaterThan(0)
  expect(first.listed[1]).toMatchObject({ id: 'b', records: 2 })
  expect((await opensOf()).opened).toBe(0)
  const session = await store.resume('c')
  await session.annotate({ title: 'new' })
  expect((await opensOf()).listed).toMatchObject([{ state: 'closed' }, {}, { state: 'active', title: 'new' }])
  await session.close()
  expect(await opensOf()).toMatchObject({ opened: 0, listed: [{}, {}, { state: 'closed', title: 'new' }] })
  await store.remove('a')
  expect((await opensOf()).listed).toHaveLength(2)
})

test('a writer that was killed is found dead once; after that, its session is not opened any more', async () => {
  await make('a')
  const code = `import { filesystemStore } from ${JSON.stringify(join(projectRoot, 'dist/index.js'))}
    const session = await filesystemStore().resume('a')
    await session.append({ type: 'note' })
    process.kill(process.pid, 'SIGKILL')`
  await world.start(process.execPath, ['--input-type=module', '-e', code]).finished
  expect((await opensOf()).listed).toMatchObject([{ id: 'a', state: 'crashed', records: 2 }])
  const { listed, opened } = await opensOf()
  expect(opened).toBe(0)
  expect(listed).toEqual(truth())
  expect(listed[0]?.holder?.kind).toBe('writer')
  const session = await store.resume('a')
  expect((await opensOf()).listed).toMatchObject([
    { state: 'active', holder: { process: { pid: process.pid } } },
  ])
  await session.close()
})

test('an id that is used again is not taken for the one it was', async () => {
  await make('a')
  await store.remove('a')
  const session = await store.create({ id: 'a', title: 'another' })
  expect(byId(await store.list())).toMatchObject([{ id: 'a', state: 'active', title: 'another', records: 0 }])
  await session.close()
  // Removed by hand, which nobody told the index.
  rmSync(join(sessions, 'a'), { recursive: true })
  expect(await store.list()).toEqual([])
  const third = await store.create({ id: 'a', title: 'third' })
  await third.close()
  expect(byId(await store.list())).toEqual(truth())
})

const lookAtSession = (id: string): Look => {
  const paths = sessionPathsIn(join(sessions, id))
  const manifest = readManifestFile(nodeDisk, paths)
  if (manifest === undefined) throw new Error(`no session ${id}`)
  return readSummary(nodeDisk, paths, manifest)
}

test('who has looked at a session before another took it says nothing about it any more', async () => {
  await make('a')
  rmSync(index, { recursive: true })
  const reading = new SessionIndex(index).read()
  const look = lookAtSession('a')
  await using session = await store.resume('a')
  reading.keep([look], [look.summary])
  expect(await store.list()).toMatchObject([{ id: session.id, state: 'active' }])
})

test('while somebody is about to take a session, no look at it lasts', async () => {
  await make('a')
  const { epoch } = lookAtSession('a')
  touchSession(join(sessions, 'a'), epoch + 1)
  for (let i = 0; i < 3; i++) expect((await opensOf()).opened).toBeGreaterThan(0)
  // It is the next one's turn: with that, the touch is over.
  await (await store.resume('a')).close()
  expect((await opensOf()).opened).toBe(0)
})

test('a touch that was written to an index just when another took its place is not lost', async () => {
  await make('a')
  const { summary } = lookAtSession('a')
  const [file = ''] = indexFiles()
  const at = statSync(file).size
  await using session = await store.resume('a')
  const from = basename(file)
  const next = from.replace(/^\d+/, (number) => String(Number(number) + 1))
  writeFileSync(join(index, next), encodeIndexLine({ base: [summary], touched: [], from, at }))
  expect(await store.list()).toMatchObject([{ id: session.id, state: 'active' }])
  expect(readdirSync(index)).toEqual([next])
  expect(await store.list()).toMatchObject([{ id: session.id, state: 'active' }])
})

test('a touch that cannot be written makes an end of the index, so that nobody believes it', async () => {
  await make('a')
  await store.list()
  const small = join(world.tmp, 'small')
  const script = `mount -t tmpfs -o size=64k tmpfs ${index} && cp "$1"/* ${index}/ && (cat /dev/zero > ${index}/full; true) && exec "$2" "$3"`
  mkdirSync(small)
  for (const each of indexFiles()) copyFileSync(each, join(small, basename(each)))
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
  const { stdout, stderr } = await world.unshare(['--mount'], 'sh', [
    '-c',
    script,
    'sh',
    small,
    process.execPath,
    program,
  ])
  expect([stdout, stderr.replace(/.*No space left.*\n/, '')]).toEqual(['active\nclosed\n', ''])
})

test('the index of another boot is not believed: lines of it may be lost', async () => {
  await make('a')
  await store.list()
  const [file = ''] = indexFiles()
  const text = readFileSync(file, 'utf8')
  rmSync(file)
  writeFileSync(join(index, '7-0b7d6f0e-another-boot.ndjson'), text.replace('title of a', 'title of b'))
  const { listed, opened } = await opensOf()
  expect(opened).toBeGreaterThan(0)
  expect(listed).toEqual(truth())
  expect(readdirSync(index)).toEqual([`8-${thisMachine().boot}.ndjson`])
  expect((await opensOf()).opened).toBe(0)
})

test('an index with a byte changed anywhere falsifies nothing, and is made anew', async () => {
  await make('a')
  await store.visit('a', (visit) => visit.append({ type: 'visit' }))
  const [file = ''] = indexFiles()
  const whole = readFileSync(file)
  const expected = truth()
  for (let at = 0; at < whole.length; at++) {
    const bytes = Buffer.from(whole)
    bytes[at] = (bytes[at] as number) ^ (1 << (at % 8))
    for (const each of indexFiles()) rmSync(each)
    writeFileSync(file, bytes)
    expect(byId(await store.list())).toEqual(expected)
  }
})

test.each<[string, (file: string) => void]>([
  ['a directory', (file) => mkdirSync(join(file, 'in', 'it'), { recursive: true })],
  ['a link', (file) => symlinkSync('/etc/passwd', file)],
  ['a FIFO', (file) => execFileSync('mkfifo', [file])],
  ['zeros', (file) => writeFileSync(file, Buffer.alloc(5000))],
  ['zeros and a line end', (file) => writeFileSync(file, `${'\0'.repeat(500)}\n`)],
  ['half a line', (file) => writeFileSync(file, '{"rest":[["a","",')],
  ['a line of another shape', (file) => writeFileSync(file, '{"rest":{"a":1}}\n')],
])('with %s in the place of the index, sessions are listed and opened all the same', async (_, plant) => {
  await make('a')
  const [file = ''] = indexFiles()
  rmSync(file)
  plant(file)
  expect(byId(await store.list())).toEqual(truth())
  rmSync(index, { recursive: true })
  mkdirSync(index, 0o700)
  plant(file)
  const session = await store.resume('a')
  expect(byId(await store.list())).toMatchObject([{ id: 'a', state: 'active' }])
  await session.close()
  expect(byId(await store.list())).toEqual(truth())
  expect(readFileSync('/etc/passwd', 'utf8')).not.toContain('touched')
})

test.each<[string, (path: string) => void]>([
  ['a file', (path) => writeFileSync(path, 'x')],
  ['a link', (path) => symlinkSync('/tmp', path)],
])(
  '%s where the directory of the index should be is left alone, and sessions work without',
  async (_, plant) => {
    await make('a')
    rmSync(index, { recursive: true })
    plant(index)
    await make('b')
    expect(byId(await store.list())).toEqual(truth())
    expect(truth().map(({ id }) => id)).toEqual(['a', 'b'])
  },
)

test('an index that has grown is written anew, with what counts and nothing else', async () => {
  await make('a', 'b')
  // A process was killed while it did the same.
  const left = join(index, `.2147483646-${ulid()}.tmp`)
  writeFileSync(left, 'half of it')
  const ago = Date.now() / 1000 - 7200
  utimesSync(left, ago, ago)
  for (let i = 0; i < 30; i++) await store.visit('a', (visit) => visit.append({ type: 'visit' }))
  const before = statSync(indexFiles().find((file) => file !== left) ?? '').size
  listSessions(nodeDisk, sessions, eager())
  listSessions(nodeDisk, sessions, eager())
  expect(indexFiles()).toHaveLength(1)
  expect(statSync(indexFiles()[0] ?? '').size).toBeLessThan(before / 2)
  const { listed, opened } = await opensOf()
  expect(opened).toBe(0)
  expect(listed).toEqual(truth())
})

test('the index is for nobody else to read', async () => {
  await make('a')
  expect(statSync(index).mode & 0o777).toBe(0o700)
  expect(indexFiles().map((file) => statSync(file).mode & 0o777)).toEqual([0o600])
})

test('a session whose manifest cannot be read is listed as damaged; what is no session is not', async () => {
  await make('broken', 'gone', 'fine')
  writeFileSync(join(sessions, 'broken', 'manifest.json'), '{"schema":1')
  rmSync(join(sessions, 'gone', 'manifest.json'))
  mkdirSync(join(sessions, 'empty'))
  writeFileSync(join(sessions, 'notes.txt'), '')
  symlinkSync(join(sessions, 'fine'), join(sessions, 'link'))
  rmSync(index, { recursive: true })
  for (let i = 0; i < 2; i++)
    expect(byId(await store.list())).toMatchObject([
      { id: 'broken', state: 'damaged' },
      { id: 'fine', state: 'closed' },
      { id: 'gone', state: 'damaged' },
    ])
})

test('whatever was done, a list says what the sessions say', async () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd')
  const deed = fc.oneof(
    fc.record({ do: fc.constant('create' as const), id }),
    fc.record({ do: fc.constant('use' as const), id }),
    fc.record({ do: fc.constant('visit' as const), id }),
    fc.record({ do: fc.constant('fork' as const), id, to: id }),
    fc.record({ do: fc.constant('remove' as const), id }),
    fc.record({ do: fc.constant('hold' as const), id }),
    fc.record({ do: fc.constant('list' as const), id, eager: fc.boolean() }),
    fc.record({ do: fc.constant('spoil' as const), id, at: fc.nat(2000) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { minLength: 5, maxLength: 25 }), async (deeds) => {
      rmSync(home, { recursive: true, force: true })
      const held = new Map<string, AsyncDisposable>()
      for (const each of deeds) {
        try {
          if (each.do === 'create') await (await store.create({ id: each.id })).close()
          if (each.do === 'use') {
            await using session = await store.resume(each.id)
            await session.append({ type: 'note' })
            await session.turn()
          }
          if (each.do === 'visit')
            await store.visit(each.id, (visit) => visit.append({ type: 'visit' }), { wait: 0 })
          if (each.do === 'fork') await (await store.fork(each.id, { id: each.to, title: ulid() })).close()
          if (each.do === 'remove') await store.remove(each.id)
          if (each.do === 'hold') held.set(each.id, await store.resume(each.id))
          if (each.do === 'list') listSessions(nodeDisk, sessions, each.eager ? eager() : undefined)
          if (each.do === 'spoil') spoil(each.at)
        } catch (error) {
          expect(['SESSION_LOCKED', 'NOT_FOUND', 'NAME_TAKEN']).toContain((error as { code?: string }).code)
        }
        expect(byId(await store.list())).toEqual(truth())
      }
      for (const session of held.values()) await session[Symbol.asyncDispose]()
      expect(byId(await store.list())).toEqual(truth())
    }),
    { numRuns: 15 },
  )
})

function spoil(at: number): void {
  if (!existsSync(index)) return
  for (const file of indexFiles()) {
    const bytes = readFileSync(file)
    if (at >= bytes.length) continue
    bytes[at] = (bytes[at] as number) ^ 1
    writeFileSync(file, bytes)
  }
}

test('while several processes do anything to a few sessions and die of it, every list is right', async () => {
  const worker = join(projectRoot, 'test/fixtures/session-worker.mjs')
  mkdirSync(home, 0o700)
  for (let wave = 0; wave < 3; wave++) {
    const workers = [1, 2, 3, 4].map((seed) =>
      world.start(process.execPath, [worker, home, String(wave * 100 + seed), '40']),
    )
    const ends = Promise.all(workers.map(({ finished }) => finished))
    const running = (): boolean => workers.some(({ child }) => (child.exitCode ?? child.signalCode) === null)
    while (running()) {
      listSessions(nodeDisk, sessions, eager())
      await new Promise((resolve) => setImmediate(resolve))
    }
    for (const { stdout, stderr, signal } of await ends)
      expect(signal === 'SIGKILL' ? 'DONE\n' : stdout + stderr).toBe('DONE\n')
    expect(byId(await store.list())).toEqual(truth())
    expect(byId(listSessions(nodeDisk, sessions, eager()))).toEqual(truth())
  }
  expect(truth().length).toBeGreaterThan(0)
})
