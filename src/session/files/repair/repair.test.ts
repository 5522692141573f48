import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { allOf } from '../../../../test/support/all-of.ts'
import { changingCalls } from '../../../../test/support/crash-disk.ts'
import { copyTree } from '../../../../test/support/copy-tree.ts'
import { World } from '../../../../test/support/world.ts'
import { auditCodec, encodeBody, encodeLine, journalCodec } from '../../log/codec.ts'
import { type Disk, nodeDisk } from '../../../base/fs/disk.ts'
import type { SessionStore } from '../../store.ts'
import { SessionsHome } from '../session-directory.ts'
import { previewRepair, repairSession } from './repair.ts'
import { filesystemStore } from '../driver.ts'

let world: World
let store: SessionStore
let home: SessionsHome
let sessions: string
beforeEach(() => {
  world = new World()
  home = new SessionsHome(join(world.tmp, 'home'))
  store = filesystemStore({ home: home.path })
  sessions = home.sessions
})
afterEach(() => world[Symbol.asyncDispose]())

const journalOf = (id: string): string => join(sessions, id, 'journal.log')
const auditOf = (id: string): string => join(sessions, id, 'audit/audit.log')

/** A closed session with six messages, each with a line in the audit log. */
async function makeSession(id = 'patient'): Promise<string> {
  await using session = await store.create({ id, tool: 'test' })
  for (let n = 1; n <= 6; n++) {
    await session.audit({ action: 'say', subject: `line ${n}` })
    await session.append({ type: 'message', data: { n } })
  }
  return id
}

async function eventsOf(id: string, all = false) {
  return await allOf((await store.inspect(id)).events({ all }))
}

const numbersOf = (events: readonly { data: unknown }[]): unknown[] =>
  events.map(({ data }) => (data as { n: number }).n)

/** Changes the lines of a file. */
function edit(path: string, change: (lines: string[]) => string[]): void {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  writeFileSync(path, `${change(lines).join('\n')}\n`)
}

test('after damage in the middle, one record is lost and all others keep their numbers and bytes', async () => {
  const id = await makeSession()
  const before = readFileSync(journalOf(id), 'utf8')
  edit(journalOf(id), (lines) => lines.map((line, i) => (i === 2 ? line.replace('"n":3', '"n":9') : line)))
  const damaged = readFileSync(journalOf(id), 'utf8')
  await rm(join(sessions, id, 'snapshots'))
  await expect(store.resume(id)).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' })
  expect(numbersOf(await eventsOf(id))).toEqual([1, 2])

  const plan = await previewRepair(home, id)
  expect(plan).toMatchObject({ needed: true, journal: { bad: 3, salvaged: 3, lost: [{ from: 3, to: 3 }] } })
  expect(readFileSync(journalOf(id), 'utf8')).toBe(damaged)
  const repaired = await repairSession(home, id)
  expect(repaired).toMatchObject(plan)
  expect('kept' in repaired && readFileSync(join(repaired.kept, 'journal.log'), 'utf8')).toBe(damaged)

  expect((await eventsOf(id)).map(({ seq, data }) => [seq, data])).toEqual(
    [1, 2, 4, 5, 6].map((n) => [n, { n }]),
  )
  expect((await eventsOf(id, true))[2]).toMatchObject({ seq: 3, type: 'stint.lost' })
  const segment = readdirSync(join(sessions, id)).find((name) => name.startsWith('journal')) ?? ''
  const lines = readFileSync(join(sessions, id, segment), 'utf8').split('\n')
  const old = before.split('\n')
  expect([0, 1, 3, 4, 5].map((i) => lines[i])).toEqual([0, 1, 3, 4, 5].map((i) => old[i]))

  const inspection = await store.inspect(id)
  expect(await inspection.health()).toMatchObject({ ok: true })
  expect(inspection.summary.state).toBe('closed')
  expect(inspection.manifest.revisions.at(-1)).toMatchObject({ kind: 'repair', seq: 6 })
  const notes = await allOf(inspection.audit())
  expect(notes.at(-1)).toMatchObject({ action: 'stint.repair', detail: { journal: { bad: 3 } } })
  await using session = await store.resume(id)
  expect((await session.append({ type: 'message', data: { n: 7 } })).seq).toBe(7)
})

async function rm(path: string): Promise<void> {
  rmSync(path, { recursive: true })
}

test('state that a lost record had set is restored from a later snapshot', async () => {
  const session = await store.create({ id: 'patient' })
  const todo = session.slot<string[]>('todo', { version: '1', initial: [] })
  const done = session.slot<string[]>('done', { version: '2', initial: [] })
  await todo.set(['a'])
  await todo.set(['a', 'b'])
  await session.turn()
  await done.set(['x'])
  await session.snapshot()
  await done.set(['x', 'y'])
  await session.close()
  edit(journalOf('patient'), (lines) => [lines[0] ?? '', ...lines.slice(3)])
  await rm(join(sessions, 'patient/snapshots/5.json'))
  const plan = await repairSession(home, 'patient')
  expect(plan).toMatchObject({
    journal: { lost: [{ from: 2, to: 3 }] },
    restored: { slots: ['todo'], turns: 1 },
  })
  for (const withSnapshot of [true, false]) {
    if (!withSnapshot) await rm(join(sessions, 'patient/snapshots'))
    await using again = await store.resume('patient')
    expect(again.turns).toBe(1)
    expect(again.slot<string[]>('todo', { version: '1', initial: [] }).value).toEqual(['a', 'b'])
    expect(again.slot<string[]>('done', { version: '2', initial: [] }).value).toEqual(['x', 'y'])
  }
})

test('records that were cut off the end, or were in a missing segment, are marked as lost', async () => {
  const id = await makeSession()
  edit(journalOf(id), (lines) => lines.slice(0, 4))
  await rm(join(sessions, id, 'snapshots'))
  await expect(store.resume(id)).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' })
  expect(await repairSession(home, id)).toMatchObject({ journal: { lost: [{ from: 5, to: 6 }] } })
  expect(numbersOf(await eventsOf(id))).toEqual([1, 2, 3, 4])

  const many = await makeSession('many')
  await rm(join(sessions, many, 'snapshots'))
  const lines = readFileSync(journalOf(many), 'utf8').trimEnd().split('\n')
  for (const [name, from] of [
    ['journal-5-1.log', 4],
    ['journal-3-1.log', 2],
    ['journal.log', 0],
  ] as const)
    writeFileSync(join(sessions, many, name), `${lines.splice(from).join('\n')}\n`)
  expect(numbersOf(await eventsOf(many))).toEqual([1, 2, 3, 4, 5, 6])
  await rm(join(sessions, many, 'journal-3-1.log'))
  await expect(store.resume(many)).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' })
  expect(await repairSession(home, many)).toMatchObject({ journal: { lost: [{ from: 3, to: 4 }] } })
  expect(numbersOf(await eventsOf(many))).toEqual([1, 2, 5, 6])
  expect((await (await store.inspect(many)).health()).ok).toBe(true)
})

test('a session with 150,000 intact records after the damage is repaired', async () => {
  const id = await makeSession()
  const more = 150_000
  const body = encodeBody('message', '1')
  const line = (seq: number): string =>
    encodeLine(journalCodec, { seq, at: 1, group: seq, epoch: 1 }, body, '').line
  edit(journalOf(id), (lines) => [
    ...lines.filter((_, i) => i !== 2),
    ...Array.from({ length: more }, (_, i) => line(7 + i)),
  ])
  expect(await previewRepair(home, id)).toMatchObject({
    journal: { bad: 3, salvaged: more + 3, lost: [{ from: 3, to: 3 }] },
  })
})

test('lines in the wrong order are all kept', async () => {
  const id = await makeSession()
  edit(journalOf(id), ([a = '', b = '', c = '', d = '', ...rest]) => [a, d, c, b, ...rest])
  await repairSession(home, id)
  expect(numbersOf(await eventsOf(id))).toEqual([1, 2, 3, 4, 5, 6])
})

const auditDamages: [string, (lines: string[]) => string[], number[]][] = [
  [
    'changed',
    (lines) => lines.map((line, i) => (i === 2 ? line.replace('line 3', 'line X') : line)),
    [1, 2, 4, 5, 6],
  ],
  ['removed', (lines) => lines.filter((_, i) => i !== 2), [1, 2, 4, 5, 6]],
  ['cut off', (lines) => lines.slice(0, 4), [1, 2, 3, 4]],
  ['swapped', ([a = '', b = '', c = '', ...rest]) => [a, c, b, ...rest], [1, 2, 3, 4, 5, 6]],
  [
    'forged, with the right hash',
    (lines) => lines.map((line, i) => (i === 2 ? forged(line) : line)),
    [1, 2, 9, 4, 5, 6],
  ],
]

/** A line with other data, and the right hash and checksum for it. */
function forged(line: string): string {
  const { seq, at, group, epoch, prev } = JSON.parse(line) as Record<
    'seq' | 'at' | 'group' | 'epoch',
    number
  > & { prev: string }
  const body = '"type":"note","data":{"action":"say","subject":"line 9"}'
  return encodeLine(auditCodec, { seq, at, group, epoch }, body, prev).line
}

test.each(auditDamages)(
  'a line of the audit log that was %s is found, and the others are chained again',
  async (_, damage, left) => {
    const id = await makeSession()
    const before = readFileSync(auditOf(id), 'utf8').split('\n')
    edit(auditOf(id), damage)
    const health = await (await store.inspect(id)).health()
    expect(health.audit.state).toBe('damaged')
    const repaired = await repairSession(home, id)
    expect('kept' in repaired && existsSync(join(repaired.kept, 'audit.log'))).toBe(true)
    const inspection = await store.inspect(id)
    expect(await inspection.health()).toMatchObject({ ok: true })
    const records = await allOf(inspection.audit())
    const said = records.filter(({ action }) => action === 'say')
    expect(said.map(({ subject }) => Number(subject?.slice(5)))).toEqual(left)
    expect(records.at(-1)).toMatchObject({ action: 'stint.repair' })
    // A line that was chained again carries the hash it had.
    const [, hash] = /"hash":"([0-9a-f]{64})"/.exec(before[3] ?? '') ?? []
    const [segment = ''] = readdirSync(join(sessions, id, 'audit'))
    const text = readFileSync(join(sessions, id, 'audit', segment), 'utf8')
    if (left.includes(4) && left.length < 6) expect(text.includes(hash ?? '')).toBe(true)
    await using session = await store.resume(id)
    await session.audit({ action: 'say', subject: 'line 7' })
  },
)

test('an audit log that was rewritten from the beginning is kept, with a note', async () => {
  const id = await makeSession()
  let sum = auditCodec.genesis
  edit(auditOf(id), (lines) =>
    lines.map((line, i) => {
      const { seq, at, group, epoch } = JSON.parse(line) as Record<'seq' | 'at' | 'group' | 'epoch', number>
      const body = `"type":"note","data":{"action":"say","subject":"other ${i}"}`
      const made = encodeLine(auditCodec, { seq, at, group, epoch }, body, sum)
      sum = made.sum
      return made.line
    }),
  )
  await expect(store.resume(id)).rejects.toMatchObject({ code: 'AUDIT_CORRUPT' })
  await repairSession(home, id)
  const inspection = await store.inspect(id)
  expect(await inspection.health()).toMatchObject({ ok: true })
  const records = await allOf(inspection.audit())
  expect(records.at(-1)).toMatchObject({ action: 'stint.repair' })
  expect(JSON.stringify(records.at(-1))).toContain('is not the one that was attested')
})

test('a manifest that is invalid, missing or of another session is replaced', async () => {
  const id = await makeSession()
  const manifest = join(sessions, id, 'manifest.json')
  for (const damage of [() => writeFileSync(manifest, '{"schema":1'), () => rmSync(manifest)]) {
    damage()
    await repairSession(home, id)
    expect(numbersOf(await eventsOf(id))).toEqual([1, 2, 3, 4, 5, 6])
    expect((await store.inspect(id)).manifest.revisions).toMatchObject([{ kind: 'repair', seq: 6 }])
  }
  renameSync(join(sessions, id), join(sessions, 'renamed'))
  await expect(store.resume('renamed')).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' })
  await repairSession(home, 'renamed')
  await using session = await store.resume('renamed')
  expect(session.id).toBe('renamed')
})

test('a repair changes nothing in a session that is whole or held by a living process', async () => {
  const id = await makeSession()
  const files = () =>
    readdirSync(join(sessions, id)).map((name) => [name, statText(join(sessions, id, name))])
  const before = files()
  expect(await repairSession(home, id)).toMatchObject({ needed: false, steps: [] })
  expect(files().filter(([name]) => name !== 'lock')).toEqual(before.filter(([name]) => name !== 'lock'))
  await using session = await store.resume(id)
  await expect(repairSession(home, session.id)).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
})

function statText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return 'a directory'
  }
}

const isNewline = (bytes: Buffer, at: number): boolean => bytes[at] === 0x0a

test('after any byte of a log was changed, a repair makes the session whole and loses at most one record', async () => {
  const id = await makeSession()
  const directory = join(sessions, id)
  const pristine = join(world.tmp, 'pristine')
  copyTree(directory, pristine)
  for (const file of ['journal.log', 'audit/audit.log']) {
    const bytes = readFileSync(join(pristine, file))
    for (let at = 0; at < bytes.length; at += isNewline(bytes, at + 1) ? 1 : 53) {
      rmSync(directory, { recursive: true })
      copyTree(pristine, directory)
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 0x01
      writeFileSync(join(directory, file), changed)
      await repairSession(home, id)
      const inspection = await store.inspect(id)
      expect(await inspection.health(), `byte ${at} of ${file}`).toMatchObject({ ok: true })
      const left = numbersOf(await eventsOf(id)).length
      const said = (await allOf(inspection.audit())).filter(({ action }) => action === 'say').length
      expect(left + said, `byte ${at} of ${file}`).toBeGreaterThanOrEqual(11)
    }
  }
})

/** A disk on which every change after the n-th fails. */
function failingAt(n: number): Disk {
  let changes = 0
  const fail = (): void => {
    changes += 1
    if (changes > n) throw Object.assign(new Error('the disk is gone'), { code: 'EIO' })
  }
  const changing = new Set<string>(changingCalls)
  return new Proxy(nodeDisk, {
    get(disk, name: keyof Disk) {
      const call = disk[name] as (...args: unknown[]) => unknown
      return (...args: unknown[]) => {
        if (changing.has(name)) fail()
        return call(...args)
      }
    },
  })
}

test('a repair that fails at any step loses nothing, and can be repeated', async () => {
  const id = await makeSession()
  const directory = join(sessions, id)
  edit(journalOf(id), (lines) => lines.filter((_, i) => i !== 2))
  edit(auditOf(id), (lines) => lines.filter((_, i) => i !== 3))
  const pristine = join(world.tmp, 'pristine')
  copyTree(directory, pristine)
  let failures = 0
  for (let n = 0; ; n++) {
    rmSync(directory, { recursive: true })
    copyTree(pristine, directory)
    const cutOff = await repairSession(new SessionsHome(home.path, failingAt(n)), id).then(
      () => false,
      (error: { code?: string }) => error.code === 'DISK_FAILED',
    )
    if (cutOff) {
      failures += 1
      await repairSession(home, id)
    }
    const inspection = await store.inspect(id)
    expect(await inspection.health(), `cut off at ${n}`).toMatchObject({ ok: true })
    expect(numbersOf(await eventsOf(id)), `cut off at ${n}`).toEqual([1, 2, 4, 5, 6])
    const said = (await allOf(inspection.audit())).filter(({ action }) => action === 'say')
    expect(
      said.map(({ subject }) => subject),
      `cut off at ${n}`,
    ).toEqual([1, 2, 3, 5, 6].map((line) => `line ${line}`))
    if (!cutOff) break
  }
  expect(failures).toBeGreaterThan(20)
})

test('a repaired session can be forked at any record', async () => {
  const id = await makeSession()
  edit(auditOf(id), (lines) => lines.filter((_, i) => i !== 2))
  await repairSession(home, id)
  for (let at = 1; at <= 6; at++) {
    const fork = await store.fork(id, { at })
    await fork.append({ type: 'message' })
    await fork.close()
    expect(await (await store.inspect(fork.id)).health(), `at ${at}`).toMatchObject({ ok: true })
  }
})
