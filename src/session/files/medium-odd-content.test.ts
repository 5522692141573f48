import { crc32 } from 'node:zlib'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'
import { StintError } from '../../base/errors/stint-error.ts'
import type { SessionStore } from '../store.ts'
import { copySession } from '../copy-session.ts'
import { repairFiles } from '../../../test/support/repair-files.ts'
import { FilesMedium, filesystemStore } from './medium.ts'

let world: World
let store: SessionStore
let root: string
beforeEach(async () => {
  world = new World()
  store = filesystemStore({ home: join(world.tmp, 'home') })
  root = join(world.tmp, 'home/sessions/odd')
  const session = await store.create({ id: 'odd' })
  await session.slot('count', { version: '1', initial: 0 }).set(7)
  await session.audit({ action: 'note' })
  await session.turn()
  await session.close()
})
afterEach(() => world[Symbol.asyncDispose]())

type Fields = Record<string, unknown>

function changeManifest(change: (last: Fields) => void): void {
  const path = join(root, 'manifest.json')
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as { revisions: Fields[] }
  change(manifest.revisions.at(-1) as Fields)
  writeFileSync(path, JSON.stringify(manifest))
}

/** Changes a snapshot and gives it the right checksum. */
function changeSnapshot(fields: Fields): void {
  const path = join(root, 'snapshot.json')
  const { crc: _crc, ...snapshot } = JSON.parse(readFileSync(path, 'utf8')) as Fields
  const text = JSON.stringify({ ...snapshot, ...fields }).slice(0, -1)
  writeFileSync(path, `${text},"crc":"${crc32(text).toString(16).padStart(8, '0')}"}\n`)
}

function changeLock(fields: Fields): void {
  const top = Math.max(...readdirSync(join(root, 'lock')).map(Number))
  const record = JSON.parse(readFileSync(join(root, `lock/${top}`), 'utf8')) as Fields
  writeFileSync(join(root, `lock/${top + 1}`), JSON.stringify({ ...record, ...fields }))
}

function putFile(name: string): void {
  rmSync(join(root, name), { recursive: true, force: true })
  writeFileSync(join(root, name), '')
}

/** Calls everything that reads or writes a session; returns the outcome of each. */
async function tryAll(): Promise<string[]> {
  const calls = [
    () => store.list(),
    async () => await (await store.inspect('odd')).health(),
    async () => await (await store.inspect('odd')).slots(),
    async () => await (await store.inspect('odd')).tail(1),
    () => store.visit('odd', (visit) => visit.append({ type: 'note' })),
    async () => {
      await using session = await store.resume('odd')
      expect(session.slot('count', { version: '1', initial: 0 }).value).toBe(7)
      expect(session.turns).toBe(1)
    },
  ]
  const outcomes: string[] = []
  for (const call of calls) {
    try {
      await call()
      outcomes.push('done')
    } catch (error) {
      if (!(error instanceof StintError)) throw error
      outcomes.push(error.code)
    }
  }
  return outcomes
}

const snapshots: Fields[] = [
  { unsettled: null },
  { unsettled: [null] },
  { turns: -5 },
  { turns: 'many' },
  { slots: { count: null } },
]

test.each(snapshots)('a snapshot with %j is skipped in favour of the journal', async (fields) => {
  changeSnapshot(fields)
  expect(new Set(await tryAll())).toEqual(new Set(['done']))
})

test('a snapshot with a right checksum that is not JSON is skipped', async () => {
  const path = join(root, 'snapshot.json')
  const text = '{"schema":1,"seq":2,"unsettled":['
  writeFileSync(path, `${text},"crc":"${crc32(text).toString(16).padStart(8, '0')}"}\n`)
  expect(new Set(await tryAll())).toEqual(new Set(['done']))
})

const revisions: Fields[] = [
  { seq: -1 },
  { seq: 'x' },
  { audit: null },
  { audit: 5 },
  { title: 5 },
  { secrets: 5 },
]

test.each(revisions)('a revision with %j is reported as damage', async (fields) => {
  changeManifest((last) => Object.assign(last, fields))
  expect((await tryAll()).slice(1)).toEqual(Array.from({ length: 5 }, () => 'JOURNAL_CORRUPT'))
})

test('a manifest may have any number of revisions', async () => {
  changeManifest((last) => Object.assign(last, { note: 'x' }))
  const path = join(root, 'manifest.json')
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as { revisions: Fields[] }
  const [first] = manifest.revisions
  manifest.revisions = Array.from({ length: 150_000 }, (_, i) => ({ ...first, rev: i + 1 }))
  writeFileSync(path, JSON.stringify(manifest))
  expect(new Set(await tryAll())).toEqual(new Set(['done']))
})

test.each(['audit', 'lock', 'state'])(
  'a file in the place of %s is reported as damage or ignored',
  async (name) => {
    putFile(name)
    for (const outcome of await tryAll()) expect(outcome).toMatch(/^(done|JOURNAL_CORRUPT)$/)
  },
)

test.each(['directory', 'link'])('a journal that is a %s is not read', async (kind) => {
  renameSync(join(root, 'journal.log'), join(root, 'elsewhere'))
  if (kind === 'link') symlinkSync('elsewhere', join(root, 'journal.log'))
  else mkdirSync(join(root, 'journal.log'))
  expect((await tryAll()).slice(1)).toEqual(Array.from({ length: 5 }, () => 'JOURNAL_CORRUPT'))
})

test('a holder with an impossible time is ignored', async () => {
  const process = { pid: 1, started: null, boot: 'x', host: 'x', pidns: '', timens: '' }
  changeLock({ holder: { process, since: 1e300, beat: 1e300, kind: 'writer' }, ends: undefined })
  expect(new Set(await tryAll())).toEqual(new Set(['done']))
})

test('the highest possible epoch of a lock is refused, not retried forever', async () => {
  symlinkSync('nowhere', join(root, 'lock/999999999999999'))
  expect((await tryAll()).slice(-2)).toEqual(['HOME_UNSAFE', 'HOME_UNSAFE'])
})

test('a segment with the highest possible epoch is refused', async () => {
  writeFileSync(join(root, 'journal-3-999999999999999.log'), '')
  expect((await tryAll()).slice(-2)).toEqual(['HOME_UNSAFE', 'HOME_UNSAFE'])
})

test('verify and copy notice the loss of records that only the lock attests', async () => {
  const path = join(root, 'journal.log')
  const before = readFileSync(path).length
  await store.visit('odd', (visit) => visit.append({ type: 'note' }))
  truncateSync(path, before)
  expect(await (await store.inspect('odd')).health()).toMatchObject({
    ok: false,
    journal: { state: 'damaged' },
  })
  const damage = expect.objectContaining({ code: 'JOURNAL_CORRUPT' })
  const medium = new FilesMedium({ home: dirname(dirname(root)) })
  await expect(copySession(await medium.read('odd'), medium, 0)).rejects.toThrow(damage)
})

test('a session with an invalid manifest can be removed; a session of another store cannot', async () => {
  const path = join(root, 'manifest.json')
  writeFileSync(path, readFileSync(path, 'utf8').replace('"filesystem"', '"postgres"'))
  await expect(store.remove('odd')).rejects.toMatchObject({ code: 'RESUME_MISMATCH' })
  writeFileSync(path, 'not JSON')
  await store.remove('odd')
  expect(readdirSync(join(world.tmp, 'home/trash'))).toEqual(['odd'])
  expect(await store.list()).toEqual([])
})

test('a repair names what it cannot read', async () => {
  rmSync(join(root, 'journal.log'))
  mkdirSync(join(root, 'journal.log'))
  await expect(repairFiles(new FilesMedium({ home: dirname(dirname(root)) }), 'odd', true)).rejects.toThrow(
    /journal\.log is not what stint put there/,
  )
})
