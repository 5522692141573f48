import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { projectRoot, World } from '../../../test/support/world.ts'
import type { Session } from '../session.ts'
import type { SessionStore } from '../store.ts'
import { filesystemStore } from './medium.ts'

let world: World
let home: string
let store: SessionStore
beforeEach(() => {
  world = new World()
  home = join(world.tmp, 'home')
  store = filesystemStore({ home })
})
afterEach(() => world[Symbol.asyncDispose]())

const pathsUnder = (directory: string): string[] =>
  readdirSync(directory).flatMap((name) => {
    const path = join(directory, name)
    return lstatSync(path).isDirectory() ? [path, ...pathsUnder(path)] : [path]
  })

/** Writes one of everything that a session can have. */
async function fill(session: Session): Promise<void> {
  await session.append({ type: 'note', data: 'ü \u2028 x' })
  await session.append({ type: 'big', data: 'x'.repeat(300_000) })
  await session.slot('s', { version: '1', initial: 0 }).set(1)
  await session.act({ action: 'shell', subject: 'ls' }, () => 0)
  await session.turn()
  await session.snapshot()
}

test('a purged session leaves nothing in the trash, and one that was only removed stays there', async () => {
  for (const id of ['purged', 'removed']) {
    await using session = await store.create({ id })
    await fill(session)
  }
  await store.remove('removed')
  await store.remove('purged', { purge: true })
  expect(pathsUnder(home).filter((path) => path.includes('purged'))).toEqual([])
  expect(pathsUnder(home).some((path) => path.endsWith('removed/journal.log'))).toBe(true)
})

test.each(['000', '077'])(
  'only the owner can access the files of a session, with umask %s',
  async (umask) => {
    const code = `import { filesystemStore } from ${JSON.stringify(join(projectRoot, 'dist/index.js'))}
    process.umask('${umask}')
    const store = filesystemStore()
    const session = await store.create()
    await session.append({ type: 'big', data: 'x'.repeat(300_000) })
    await session.slot('s', { version: '1', initial: 0 }).set(1)
    await session.act({ action: 'shell' }, () => 0)
    await session.snapshot()
    const fork = await session.fork()
    await fork.close()
    await session.close()
    await store.visit(session.id, (visit) => visit.append({ type: 'visit' }))
    await (await store.resume(session.id)).close()
    await store.list()
    await store.remove(fork.id)`
    const { code: exit, stderr } = await world.start(process.execPath, ['--input-type=module', '-e', code])
      .finished
    expect([exit, stderr]).toEqual([0, ''])
    expect(pathsUnder(home).length).toBeGreaterThan(20)
    for (const path of [home, ...pathsUnder(home)]) {
      const stat = lstatSync(path)
      if (stat.isSymbolicLink()) continue
      expect([path, (stat.mode & 0o777).toString(8)]).toEqual([path, stat.isDirectory() ? '700' : '600'])
    }
  },
)

test('journal, audit log and manifest are JSON that other programs can read', async () => {
  const session = await store.create()
  await fill(session)
  await session.close()
  const root = join(home, 'sessions', session.id)
  const lines = (path: string): Record<string, unknown>[] => {
    const text = readFileSync(path, 'utf8')
    expect(text).not.toMatch(/[\u2028\u2029]/)
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  }
  expect(lines(join(root, 'journal.log')).map(({ seq, type }) => [seq, type])).toEqual([
    [1, 'note'],
    [2, 'big'],
    [3, 'stint.slot'],
    [4, 'stint.turn'],
  ])
  expect(lines(join(root, 'audit', 'audit.log')).map(({ type }) => type)).toEqual(['intent', 'outcome'])
  expect(Object.keys(lines(join(root, 'journal.log'))[0] ?? {})).toEqual([
    'seq',
    'at',
    'group',
    'epoch',
    'type',
    'data',
    'crc',
  ])
  const manifest = JSON.parse(readFileSync(join(root, 'manifest.json'), 'utf8')) as {
    revisions: { kind: string }[]
  }
  expect(manifest.revisions.map(({ kind }) => kind)).toEqual(['create', 'close'])
  execFileSync('python3', [
    '-c',
    'import json,sys\nfor l in open(sys.argv[1]): l.strip() and json.loads(l)',
    join(root, 'journal.log'),
  ])
})

test('a session with an unreadable slot value resumes, reports the slot, and can reset it', async () => {
  const session = await store.create({ snapshots: { at: 'never' } })
  await session.slot('fine', { version: '1', initial: 0 }).set(1)
  await session.slot('broken', { version: '1', initial: '' }).set('x'.repeat(300_000))
  await session.close()
  const root = join(home, 'sessions', session.id)
  for (const folder of ['blobs', 'state'])
    for (const name of readdirSync(join(root, folder))) {
      const path = join(root, folder, name)
      if (statSync(path).size > 200_000) writeFileSync(path, 'changed')
    }
  const again = await store.resume(session.id)
  expect(again.report.brokenSlots).toMatchObject([{ ext: 'broken' }])
  expect(again.slot('fine', { version: '1', initial: 0 }).value).toBe(1)
  expect(() => again.slot('broken', { version: '1', initial: '' })).toThrow(
    expect.objectContaining({ code: 'SLOT_BROKEN' }) as Error,
  )
  await again.resetSlot('broken', '1', 'new')
  await again.close()
  await using third = await store.resume(session.id)
  expect(third.report.brokenSlots).toEqual([])
  expect(third.slot('broken', { version: '1', initial: '' }).value).toBe('new')
})

test('a session resumes with the same state, with and without its snapshots', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('append' as const), data: fc.jsonValue() }),
    fc.record({ do: fc.constant('slot' as const), ext: fc.constantFrom('a', 'b'), data: fc.jsonValue() }),
    fc.record({ do: fc.constant('turn' as const), data: fc.jsonValue() }),
    fc.record({ do: fc.constant('intent' as const), data: fc.string() }),
    fc.record({ do: fc.constant('snapshot' as const), data: fc.constant(null) }),
    fc.record({ do: fc.constant('close' as const), data: fc.constant(null) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      let session = await store.create({ snapshots: { minBytes: 0, minRecords: 0 } })
      const { id } = session
      for (const each of steps) {
        if (each.do === 'append') await session.append({ type: 'note', data: each.data })
        if (each.do === 'slot')
          await session.slot<unknown>(each.ext, { version: '1', initial: 0 }).set(each.data)
        if (each.do === 'turn') await session.turn(each.data)
        if (each.do === 'intent')
          await session.audit({ action: 'act', phase: 'intent', act: each.data, subject: each.data })
        if (each.do === 'snapshot') await session.snapshot()
        if (each.do === 'close') {
          await session.close()
          session = await store.resume(id, { snapshots: { minBytes: 0, minRecords: 0 } })
        }
      }
      await session.close()
      const stateOf = async (): Promise<unknown> => {
        await using resumed = await store.resume(id)
        const { turns, lastSeq } = resumed
        return {
          turns,
          lastSeq,
          unsettled: JSON.parse(JSON.stringify(resumed.unsettled())) as unknown,
          slots: await (await store.inspect(id)).slots(),
        }
      }
      const withSnapshots = await stateOf()
      for (const name of ['snapshot.json', 'state'])
        rmSync(join(home, 'sessions', id, name), { recursive: true, force: true })
      expect(await stateOf()).toEqual(withSnapshots)
    }),
    { numRuns: 25 },
  )
})

test('the process that removed a session does not hold it in the trash', async () => {
  await (await store.create({ id: 'gone' })).close()
  await store.remove('gone')
  renameSync(join(home, 'trash/gone'), join(home, 'sessions/gone'))
  expect(await store.list()).toMatchObject([{ id: 'gone', state: 'closed' }])
  await (await store.resume('gone')).close()
})

test('a removed session is in the trash until the sweep deletes it', async () => {
  const session = await store.create({ id: 'a' })
  await fill(session)
  await session.close()
  await store.remove('a')
  const again = await store.create({ id: 'a' })
  await again.close()
  await store.remove('a')
  expect(readdirSync(join(home, 'trash'))).toHaveLength(2)
  expect((await world.stint(['sweep', '--scope', 'sessions'])).code).toBe(0)
  expect(readdirSync(join(home, 'trash'))).toEqual([])
})

test('every line of a closed session is JSON for any reader', async () => {
  const session = await store.create()
  await fill(session)
  await session.close()
  const directory = join(home, 'sessions', session.id)
  for (const [file, count] of [
    ['journal.log', 4],
    ['audit/audit.log', 2],
  ] as const) {
    const lines = readFileSync(join(directory, file), 'utf8').split('\n')
    expect(lines.pop()).toBe('')
    expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual(
      Array.from({ length: count }, (_, i) => i + 1),
    )
  }
})
