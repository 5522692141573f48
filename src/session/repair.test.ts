import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { allOf } from '../../test/support/all-of.ts'
import { changingCalls } from '../../test/support/crash-disk.ts'
import { copyTree } from '../../test/support/copy-tree.ts'
import { World } from '../../test/support/world.ts'
import { type Disk, nodeDisk } from '../base/fs/disk.ts'
import { auditCodec, encodeBody, journalCodec } from './log/codec.ts'
import type { SessionStore } from './store.ts'
import { repairFiles } from '../../test/support/repair-files.ts'
import type { Repair } from './repair.ts'
import { FilesMedium, filesystemStore } from './files/medium.ts'

let world: World
let store: SessionStore
let medium: FilesMedium
let home: string
let sessions: string
beforeEach(() => {
  world = new World()
  home = join(world.tmp, 'home')
  medium = new FilesMedium({ home })
  store = filesystemStore({ home })
  sessions = join(home, 'sessions')
})
afterEach(() => world[Symbol.asyncDispose]())

const journalOf = (id: string): string => join(sessions, id, 'journal.log')
const auditOf = (id: string): string => join(sessions, id, 'audit/audit.log')

/** A closed session with six messages, each with a line in the audit log. */
async function makeSession(id = 'patient'): Promise<string> {
  await using session = await store.create({
    id,
    tool: 'test',
    title: 'T',
    workspace: '/w',
    labels: { a: 'b' },
  })
  for (let n = 1; n <= 6; n++) {
    await session.audit({ action: 'say', subject: `line ${n}` })
    await session.append({ type: 'message', data: { n } })
  }
  return id
}

/** Repairs a session, and checks that the copy is whole and the damaged one has not changed. */
async function repaired(id: string): Promise<{ copy: string; repair: Repair }> {
  const before = filesOf(id)
  const planned = await repairFiles(medium, id, true)
  expect(planned.session_id).toBeNull()
  const repair = await repairFiles(medium, id, false)
  expect({ ...repair, session_id: null }).toEqual(planned)
  expect(filesOf(id)).toEqual(before)
  const copy = repair.session_id ?? ''
  const inspection = await store.inspect(copy)
  expect(await inspection.health()).toMatchObject({ ok: true })
  expect(inspection.summary).toMatchObject({ state: 'closed', records: repair.journal.records })
  expect(inspection.manifest.revisions.at(-1)).toMatchObject({ kind: 'repair', from: { session_id: id } })
  return { copy, repair }
}

/** Every file of a session with its content. */
const filesOf = (id: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(join(sessions, id), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path, readFileSync(path, 'latin1')]),
  )

const eventsOf = async (id: string) => await allOf((await store.inspect(id)).events())

const numbersOf = async (id: string): Promise<unknown[]> =>
  (await eventsOf(id)).map(({ data }) => (data as { n: number }).n)

const subjectsOf = async (id: string): Promise<unknown[]> =>
  (await allOf((await store.inspect(id)).audit())).map(({ subject }) => Number(subject?.slice(5)))

/** Changes the lines of a file. */
function edit(path: string, change: (lines: string[]) => string[]): void {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  writeFileSync(path, `${change(lines).join('\n')}\n`)
}

test('a flipped byte in the middle costs one record; the copy has all others in order, and goes on', async () => {
  const id = await makeSession()
  const original = await eventsOf(id)
  const bytes = readFileSync(journalOf(id))
  const at = bytes.indexOf('"n":3')
  bytes[at] = (bytes[at] ?? 0) ^ 1
  writeFileSync(journalOf(id), bytes)
  const line = { from: bytes.lastIndexOf(0x0a, at) + 1, to: bytes.indexOf(0x0a, at) + 1 }

  const { copy, repair } = await repaired(id)
  expect(repair).toMatchObject({
    from: id,
    manifest_damaged: false,
    journal: {
      records: 5,
      missing: [{ from: 3, to: 3 }],
      unreadable: [{ segment: 'journal.log', offset: line.from, bytes: line.to - line.from }],
    },
    audit: { records: 6, missing: [], unreadable: [] },
    blobs: [],
  })
  const kept = original.filter(({ seq }) => seq !== 3)
  expect(await eventsOf(copy)).toEqual(kept.map((event, index) => ({ ...event, seq: index + 1 })))
  const { summary } = await store.inspect(copy)
  expect(summary).toMatchObject({ tool: 'test', title: 'T', workspace: '/w', labels: { a: 'b' } })
  expect((await (await store.inspect(id)).health()).journal.state).toBe('damaged')
  await using session = await store.resume(copy)
  expect((await session.append({ type: 'message', data: { n: 7 } })).seq).toBe(6)
})

test('a tail that was cut off within a record, and a lost segment, are named by their numbers', async () => {
  const id = await makeSession()
  const text = readFileSync(journalOf(id), 'utf8')
  writeFileSync(journalOf(id), text.slice(0, text.indexOf('"n":5')))
  const torn = await repaired(id)
  expect(torn.repair.journal).toMatchObject({ records: 4, missing: [{ from: 5, to: 6 }] })
  expect(await numbersOf(torn.copy)).toEqual([1, 2, 3, 4])

  const many = await makeSession('many')
  const lines = readFileSync(journalOf(many), 'utf8').trimEnd().split('\n')
  for (const [name, from] of [
    ['journal-5-1.log', 4],
    ['journal-3-1.log', 2],
    ['journal.log', 0],
  ] as const)
    writeFileSync(join(sessions, many, name), `${lines.splice(from).join('\n')}\n`)
  rmSync(join(sessions, many, 'journal-3-1.log'))
  const lost = await repaired(many)
  expect(lost.repair.journal).toEqual({ records: 4, missing: [{ from: 3, to: 4 }], unreadable: [] })
  expect(await numbersOf(lost.copy)).toEqual([1, 2, 5, 6])
})

test('records after a snapshot that are gone without a trace are named, too', async () => {
  const session = await store.create({ id: 'patient' })
  for (let n = 1; n <= 3; n++) await session.append({ type: 'message', data: { n } })
  await session.snapshot()
  await session.close()
  edit(journalOf('patient'), (lines) => lines.slice(0, 2))
  rmSync(join(sessions, 'patient/manifest.json'))
  const { copy, repair } = await repaired('patient')
  expect(repair).toMatchObject({ manifest_damaged: true, journal: { missing: [{ from: 3, to: 3 }] } })
  expect(await numbersOf(copy)).toEqual([1, 2])
})

test('slots, turns and unsettled acts are rebuilt from the records that were copied', async () => {
  const session = await store.create({ id: 'patient' })
  const todo = session.slot<string[]>('todo', { version: '1', initial: [] })
  await todo.set(['a'])
  await todo.set(['a', 'b'])
  await session.turn()
  await session.turn()
  await session.act({ action: 'pay', key: 'one' }, () => 'done')
  await session.act({ action: 'pay', key: 'two' }, () => 'done')
  await session.close()
  edit(journalOf('patient'), (lines) => lines.filter((_, i) => i !== 1))
  // The outcome of the second act.
  edit(auditOf('patient'), (lines) => lines.slice(0, 3))
  const { copy } = await repaired('patient')
  await using again = await store.resume(copy)
  expect(again.slot<string[]>('todo', { version: '1', initial: [] }).value).toEqual(['a'])
  expect(again.turns).toBe(2)
  await expect(again.act({ action: 'pay', key: 'one' }, () => 'again')).resolves.toBe('done')
  await expect(again.act({ action: 'pay', key: 'two' }, () => 'again')).rejects.toMatchObject({
    code: 'ACT_UNCERTAIN',
  })
  expect(again.unsettled()).toMatchObject([{ key: 'two' }])
})

test('the copy keeps the contents of records as they were written, whatever they look like', async () => {
  const contents = [
    { text: '"continued":true', end: ',"audit":{"count":1}', start: '{"seq":1,"at":1' },
    '\u2028 \u0000 \ud800 grüße',
    1e21,
    null,
    'x'.repeat(300_000),
  ]
  const session = await store.create({ id: 'patient' })
  for (const data of contents) await session.append({ type: 'odd "type"', data })
  await session.append(contents.map((data) => ({ type: 'together', data })))
  await session.audit({ action: 'large', detail: 'y'.repeat(300_000) })
  await session.append({ type: 'last' })
  await session.close()
  const original = await eventsOf('patient')
  edit(journalOf('patient'), (lines) => lines.filter((_, i) => i !== 0 && i !== 7))
  const { copy, repair } = await repaired('patient')
  expect(repair.journal.missing).toEqual([
    { from: 1, to: 1 },
    { from: 8, to: 8 },
  ])
  const kept = original.filter(({ seq }) => seq !== 1 && seq !== 8)
  expect(await eventsOf(copy)).toEqual(kept.map((event, index) => ({ ...event, seq: index + 1 })))
  const [line] = await allOf((await store.inspect(copy)).audit())
  expect(line).toMatchObject({ action: 'large', detail: 'y'.repeat(300_000) })
})

test('lines of a journal in the data of a damaged record are no records, and displace none', async () => {
  const session = await store.create({ id: 'patient' })
  const line = (seq: number): object => {
    const header = { seq, at: 1, group: seq, epoch: 1 }
    const audit = { count: 90, head: '0'.repeat(64) }
    const body = encodeBody({ type: 'message', json: `{"n":${seq * 100}}` })
    return JSON.parse(journalCodec.encode({ ...header, audit }, body, '').line) as object
  }
  await session.append({ type: 'message', data: { n: 1 } })
  await session.append({ type: 'recorded', data: [2, 3, 4, 5, 6, 7].map(line) })
  for (const n of [3, 4, 5]) await session.append({ type: 'message', data: { n } })
  await session.close()
  const intact = readFileSync(journalOf('patient'), 'utf8')
  writeFileSync(journalOf('patient'), intact.replace('"recorded"', '"recorder"'))
  const first = await repaired('patient')
  expect(first.repair).toMatchObject({
    journal: { records: 4, missing: [{ from: 2, to: 2 }] },
    audit: { missing: [] },
  })
  expect(await numbersOf(first.copy)).toEqual([1, 3, 4, 5])
  // The log ends after a line in the data.
  writeFileSync(journalOf('patient'), intact.slice(0, intact.indexOf(',{"seq":5,')))
  const { copy, repair } = await repaired('patient')
  expect(repair.journal).toMatchObject({ records: 1, missing: [{ from: 2, to: 5 }] })
  expect(await numbersOf(copy)).toEqual([1])
})

/** A session whose writer crashed after an append of these records, each of which has a number. */
async function crashAfterAppend(id: string, numbers: readonly number[]): Promise<void> {
  const session = await store.create({ id })
  for (const n of [1, 2]) await session.append({ type: 'message', data: { n } })
  await session.append(numbers.map((n) => ({ type: 'message', data: { n } })))
  const [directory, crashed] = [join(sessions, id), join(world.tmp, `crashed-${id}`)]
  copyTree(directory, crashed)
  await session.close()
  rmSync(directory, { recursive: true })
  rmSync(join(crashed, 'lock'), { recursive: true })
  renameSync(crashed, directory)
}

test('records at the end whose append a crash cut off are not copied: they were never acknowledged', async () => {
  await crashAfterAppend('patient', [3, 4, 5])
  const whole = readFileSync(journalOf('patient'), 'utf8').replace('"n":1', '"n":9')
  const [fourth, fifth] = [whole.indexOf('{"seq":4,'), whole.indexOf('{"seq":5,')]
  for (const end of [fourth, fifth, fifth + 20]) {
    writeFileSync(journalOf('patient'), whole.slice(0, end))
    const { copy, repair } = await repaired('patient')
    expect(repair).toMatchObject({
      journal: { records: 1, missing: [{ from: 1, to: 1 }] },
    })
    expect(await numbersOf(copy)).toEqual([2])
    const third = whole.indexOf('{"seq":3,')
    expect(repair.journal.unreadable).toContainEqual({
      segment: 'journal.log',
      offset: third,
      bytes: fourth - third - 1,
    })
  }
  writeFileSync(journalOf('patient'), whole)
  const { copy } = await repaired('patient')
  expect(await numbersOf(copy)).toEqual([2, 3, 4, 5])
})

test.each([3, 4, 5])('if record %d of an append of three is lost, the others are copied', async (lost) => {
  const session = await store.create({ id: 'patient' })
  for (const n of [1, 2]) await session.append({ type: 'message', data: { n } })
  await session.append([3, 4, 5].map((n) => ({ type: 'message', data: { n } })))
  await session.append([6, 7].map((n) => ({ type: 'message', data: { n } })))
  await session.close()
  edit(journalOf('patient'), (lines) => lines.filter((__, i) => i !== lost - 1))
  const { copy, repair } = await repaired('patient')
  expect(repair.journal.missing).toEqual([{ from: lost, to: lost }])
  expect(await numbersOf(copy)).toEqual([1, 2, 3, 4, 5, 6, 7].filter((n) => n !== lost))
  // The last record is attested by the manifest: its append was complete.
  edit(journalOf('patient'), (lines) => lines.slice(0, -1))
  const again = await repaired('patient')
  expect(again.repair.journal.missing).toEqual([
    { from: lost, to: lost },
    { from: 7, to: 7 },
  ])
})

test('a lost or changed blob costs the records that name it, and is named', async () => {
  const session = await store.create({ id: 'patient' })
  await session.append({ type: 'message', data: { n: 1 } })
  await session.append({ type: 'large', data: 'x'.repeat(300_000) })
  await session.append({ type: 'message', data: { n: 3 } })
  await session.close()
  const [blob = ''] = readdirSync(join(sessions, 'patient/blobs'))
  const path = join(sessions, 'patient/blobs', blob)
  for (const damage of [() => writeFileSync(path, 'y'), () => rmSync(path)]) {
    damage()
    const { copy, repair } = await repaired('patient')
    expect(repair).toMatchObject({ blobs: [blob], journal: { records: 2, missing: [{ from: 2, to: 2 }] } })
    expect(await numbersOf(copy)).toEqual([1, 3])
  }
})

const auditDamages: [string, (lines: string[]) => string[], number[]][] = [
  [
    'changed',
    (lines) => lines.map((line, i) => (i === 2 ? line.replace('line 3', 'line X') : line)),
    [1, 2, 4, 5, 6],
  ],
  ['removed', (lines) => lines.filter((_, i) => i !== 2), [1, 2, 4, 5, 6]],
  ['cut off', (lines) => lines.slice(0, 4), [1, 2, 3, 4]],
  ['swapped', ([a = '', b = '', c = '', ...rest]) => [a, c, b, ...rest], [1, 3, 4, 5, 6]],
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
  return auditCodec.encode({ seq, at, group, epoch }, body, prev).line
}

test.each(auditDamages)(
  'if a line of the audit log was %s, the copy has the others in a chain of its own',
  async (_, damage, left) => {
    const id = await makeSession()
    edit(auditOf(id), damage)
    expect((await (await store.inspect(id)).health()).audit.state).toBe('damaged')
    const { copy, repair } = await repaired(id)
    expect(await subjectsOf(copy)).toEqual(left)
    expect(repair.audit.records).toBe(left.length)
    await using session = await store.resume(copy)
    await session.audit({ action: 'say', subject: 'line 7' })
  },
)

test('a manifest that is invalid, missing or of another session is replaced in the copy', async () => {
  const id = await makeSession()
  const manifest = join(sessions, id, 'manifest.json')
  renameSync(join(sessions, id), join(sessions, 'renamed'))
  await expect(store.resume('renamed')).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' })
  const { copy } = await repaired('renamed')
  expect((await store.inspect(copy)).summary).toMatchObject({ title: 'T', tool: 'test' })
  renameSync(join(sessions, 'renamed'), join(sessions, id))
  for (const damage of [() => writeFileSync(manifest, '{"schema":1'), () => rmSync(manifest)]) {
    damage()
    const other = await repaired(id)
    expect(await numbersOf(other.copy)).toEqual([1, 2, 3, 4, 5, 6])
    expect(other.repair.manifest_damaged).toBe(true)
    expect((await store.inspect(other.copy)).summary.title).toBeUndefined()
  }
})

test('a session that is whole, torn, held or without an intact record is not copied', async () => {
  const id = await makeSession()
  const refusal = (code: string) => expect.objectContaining({ code }) as Error
  await expect(repairFiles(medium, id, false)).rejects.toThrow(refusal('ARG_ERROR'))
  await using session = await store.resume(id)
  await expect(repairFiles(medium, id, false)).rejects.toThrow(refusal('SESSION_LOCKED'))
  await session.close()
  appendFileSync(journalOf(id), '{"seq":7,"at":1')
  await expect(repairFiles(medium, id, false)).rejects.toThrow(refusal('ARG_ERROR'))
  writeFileSync(journalOf(id), 'x\n')
  rmSync(join(sessions, id, 'audit'), { recursive: true })
  await expect(repairFiles(medium, id, false)).rejects.toThrow(refusal('JOURNAL_CORRUPT'))
  await expect(repairFiles(medium, 'nobody', false)).rejects.toThrow(refusal('NOT_FOUND'))
  expect(readdirSync(sessions).filter((name) => !name.startsWith('.'))).toEqual([id])
})

test('a session that was noted as damaged and restored from a backup is in order after its next resume', async () => {
  const id = await makeSession()
  const journal = readFileSync(journalOf(id))
  edit(journalOf(id), (lines) => lines.slice(1))
  rmSync(join(sessions, id, 'snapshot.json'))
  await expect(store.resume(id)).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' })
  expect((await store.inspect(id)).summary.state).toBe('damaged')
  writeFileSync(journalOf(id), journal)
  await (await store.resume(id)).close()
  expect((await store.inspect(id)).summary.state).toBe('closed')
})

test('40,000 intact records after the damage are copied', async () => {
  const id = await makeSession()
  const more = 40_000
  const body = encodeBody({ type: 'message', json: '1' })
  const line = (seq: number): string =>
    journalCodec.encode({ seq, at: 1, group: seq, epoch: 1 }, body, '').line
  edit(journalOf(id), (lines) => [
    ...lines.filter((_, i) => i !== 2),
    ...Array.from({ length: more }, (_, i) => line(7 + i)),
  ])
  const { session_id, journal } = await repairFiles(medium, id, false)
  expect(journal).toMatchObject({ records: more + 5, missing: [{ from: 3, to: 3 }] })
  expect((await store.inspect(session_id ?? '')).summary.records).toBe(more + 5)
})

/** Numbers that look random, and are the same in every run. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Damages bytes: flips some, overwrites or removes a range, or cuts off the end. Says which were changed. */
function damaged(bytes: Buffer, below: (limit: number) => number): { bytes: Buffer; isChanged: boolean[] } {
  const from = below(bytes.length)
  const to = Math.min(bytes.length, from + 1 + below(60))
  const isChanged = Array.from(bytes, () => false)
  switch (below(4)) {
    case 0: {
      const flipped = Buffer.from(bytes)
      for (let i = 0; i <= below(3); i++) {
        const at = below(bytes.length)
        flipped[at] = (flipped[at] ?? 0) ^ (1 << below(8))
        isChanged[at] = flipped[at] !== bytes[at]
      }
      return { bytes: flipped, isChanged }
    }
    case 1: {
      const filled = Buffer.from(bytes).fill(below(256), from, to)
      return { bytes: filled, isChanged: Array.from(bytes, (byte, i) => byte !== filled[i]) }
    }
    case 2: {
      const left = Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)])
      return { bytes: left, isChanged: isChanged.fill(true, from, to) }
    }
    default:
      return { bytes: bytes.subarray(0, from), isChanged: isChanged.fill(true, from) }
  }
}

/** The lines of a file none of whose bytes was changed, the line breaks around them included. */
function unchangedLines(file: Buffer, isChanged: readonly boolean[]): string[] {
  let offset = 0
  return file
    .toString('latin1')
    .trimEnd()
    .split('\n')
    .filter((line) => {
      const start = offset
      offset += line.length + 1
      return !isChanged.slice(Math.max(0, start - 1), start + line.length + 1).includes(true)
    })
}

/** Adds events and notes whose data has lines of both logs, as an agent records them that reads a session. */
async function appendLines(id: string): Promise<void> {
  const parsed = [journalOf(id), auditOf(id)].flatMap((path) =>
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object),
  )
  await using session = await store.resume(id)
  for (const data of [parsed, { text: JSON.stringify(parsed) }, parsed.slice(2, 5)]) {
    await session.append({ type: 'read', data })
    await session.audit({ action: 'read', detail: data })
  }
}

test('after random damage every intact record is in the copy, in order, and none is invented', async () => {
  const id = await makeSession()
  await appendLines(id)
  const directory = join(sessions, id)
  const pristine = join(world.tmp, 'pristine')
  copyTree(directory, pristine)
  const files = ['journal.log', 'audit/audit.log']
  const linesIn = (path: string): string[] => readFileSync(path, 'latin1').trimEnd().split('\n')
  const written = files.map((file) => linesIn(join(pristine, file)))
  const below = numbersFrom(20)
  let copies = 0
  for (let round = 0; round < 60; round++) {
    rmSync(directory, { recursive: true })
    copyTree(pristine, directory)
    const toDamage = below(3) === 0 ? files : [files[below(2)] ?? '']
    const intact = files.map((file, i) => {
      if (!toDamage.includes(file)) return written[i]?.map(contentOf)
      const before = readFileSync(join(directory, file))
      const { bytes, isChanged } = damaged(before, below)
      writeFileSync(join(directory, file), bytes)
      return unchangedLines(before, isChanged).map(contentOf)
    })
    const repair = await repairFiles(medium, id, false).catch((error: { code?: string }) => error.code)
    // The session is not damaged: at most its last line break is.
    if (repair === 'ARG_ERROR') continue
    if (repair === 'JOURNAL_CORRUPT') {
      expect(intact, `round ${round}`).toEqual([[], []])
      continue
    }
    const copy = (repair as Repair).session_id ?? ''
    const copied = files.map((file) => {
      const path = join(sessions, copy, file)
      return existsSync(path) ? linesIn(path).map(contentOf) : []
    })
    for (const i of [0, 1]) {
      const [contents = [], all = []] = [copied[i], written[i]?.map(contentOf)]
      expect(contents, `round ${round}`).toEqual(expect.arrayContaining(intact[i] ?? []))
      const texts = new Set(contents.map((content) => JSON.stringify(content)))
      expect(contents, `round ${round}`).toEqual(all.filter((each) => texts.has(JSON.stringify(each))))
    }
    expect(await (await store.inspect(copy)).health(), `round ${round}`).toMatchObject({ ok: true })
    copies += 1
  }
  expect(copies).toBeGreaterThan(40)
})

/** What a line says, and when: without its number, and its place in a group and a chain. */
function contentOf(line: string): object {
  const { at, type, data } = JSON.parse(line) as Record<'at' | 'type' | 'data', unknown>
  return { at, type, data }
}

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

test('a repair that fails at any step leaves no new session or a whole one, and the damaged one as it was', async () => {
  const id = await makeSession()
  edit(journalOf(id), (lines) => lines.filter((_, i) => i !== 2))
  edit(auditOf(id), (lines) => lines.filter((_, i) => i !== 3))
  const before = filesOf(id)
  const copies = () => readdirSync(sessions).filter((name) => !name.startsWith('.') && name !== id)
  let failures = 0
  for (; failures < 100; failures++) {
    const failing = new FilesMedium({ home }, failingAt(failures))
    const code = await repairFiles(failing, id, false).then(
      () => undefined,
      (error: { code?: string }) => error.code,
    )
    expect(filesOf(id), `failed at ${failures}`).toEqual(before)
    // A copy that was published, and could not be taken back when the sync of its name failed, is whole.
    for (const copy of copies()) {
      expect(await numbersOf(copy)).toEqual([1, 2, 4, 5, 6])
      expect(await subjectsOf(copy)).toEqual([1, 2, 3, 5, 6])
    }
    if (code === undefined) break
    expect(code, `failed at ${failures}`).toBe('DISK_FAILED')
    await Promise.all(copies().map((copy) => store.remove(copy, { purge: true })))
  }
  expect(failures).toBeGreaterThan(20)
  expect(copies()).toHaveLength(1)
})

test('a copy can be forked at any record', async () => {
  const id = await makeSession()
  edit(auditOf(id), (lines) => lines.filter((_, i) => i !== 2))
  const { copy } = await repaired(id)
  for (let at = 1; at <= 6; at++) {
    const fork = await store.fork(copy, { at })
    await fork.append({ type: 'message' })
    await fork.close()
    expect(await (await store.inspect(fork.id)).health(), `at ${at}`).toMatchObject({ ok: true })
  }
})
