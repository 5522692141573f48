import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { allOf } from '../../../../test/support/all-of.ts'
import { World } from '../../../../test/support/world.ts'
import { auditCodec, encodeLine, journalCodec } from '../../log/codec.ts'
import type { SessionStore } from '../../store.ts'
import { SessionsHome } from '../session-directory.ts'
import { type Exported, exportSession } from './export.ts'
import { type Imported, importSession } from './import.ts'
import { filesystemStore } from '../driver.ts'
import { paddingAfter, tarEnd, tarHeader } from './tar.ts'

let world: World
let home: string
let store: SessionStore
beforeEach(() => {
  world = new World()
  home = join(world.tmp, 'home')
  store = filesystemStore({ home })
})
afterEach(() => world[Symbol.asyncDispose]())

async function exportAs(id: string): Promise<{ archive: Buffer; exported: Exported }> {
  const pieces: Uint8Array[] = []
  const write = (bytes: Uint8Array): void => void pieces.push(Buffer.from(bytes))
  const exported = await exportSession(new SessionsHome(home), id, write)
  return { archive: Buffer.concat(pieces), exported }
}

/** Cuts an archive into chunks of an odd size: an import must not depend on the chunks. */
async function* inPieces(archive: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < archive.length; at += 777) yield archive.subarray(at, at + 777)
}

const importFrom = (archive: Buffer, id?: string, into = home): Promise<Imported> =>
  importSession(new SessionsHome(into), inPieces(archive), id)

async function makeSession(id = 'traveller'): Promise<string> {
  await using session = await store.create({ id, tool: 'test', title: 'a title' })
  await session.append({ type: 'message', data: { text: 'hello' } })
  await session.append({ type: 'big', data: 'x'.repeat(300_000) })
  await session.slot<number>('count', { version: '1', initial: 0 }).set(42)
  await session.act({ action: 'shell', subject: 'ls', key: 'once' }, () => 'done')
  await session.turn()
  return id
}

test('an import that is interrupted before its archive is verified leaves nothing, also if it was read to its end', async () => {
  const { archive } = await exportAs(await makeSession())
  const elsewhere = join(world.tmp, 'elsewhere')
  const signal = AbortSignal.abort(new Error('interrupted'))
  const importing = importSession(new SessionsHome(elsewhere), inPieces(archive), undefined, signal)
  await expect(importing).rejects.toThrow('interrupted')
  const left = readdirSync(join(elsewhere, 'sessions')).filter((name) => /^\.new-|^traveller/.test(name))
  expect(left).toEqual([])
})

test('an imported session has the events, blobs, slots, turns, acts and audit log of the original', async () => {
  const id = await makeSession()
  const { archive, exported } = await exportAs(id)
  expect(exported).toMatchObject({ session_id: id, records: 4, audit_lines: 2, bytes: archive.length })
  const elsewhere = join(world.tmp, 'elsewhere')
  expect(await importFrom(archive, undefined, elsewhere)).toEqual({
    session_id: id,
    from: id,
    records: 4,
    audit_lines: 2,
  })
  const other = filesystemStore({ home: elsewhere })
  const [here, there] = [await store.inspect(id), await other.inspect(id)]
  expect(await allOf(there.events({ all: true }))).toEqual(await allOf(here.events({ all: true })))
  expect(await allOf(there.audit())).toEqual(await allOf(here.audit()))
  expect(there.summary).toMatchObject({ state: 'closed', turns: 1, title: 'a title' })
  expect(await there.health()).toMatchObject({ ok: true })
  expect(there.manifest.revisions.at(-1)).toMatchObject({ kind: 'import', from: { session_id: id, seq: 4 } })
  await using session = await other.resume(id)
  expect(session.slot<number>('count', { version: '1', initial: 0 }).value).toBe(42)
  expect(await session.act({ action: 'shell', subject: 'ls', key: 'once' }, () => 'again')).toBe('done')
  expect((await session.append({ type: 'message' })).seq).toBe(5)
})

test('an import gets a new id if its own is taken; a requested id that is taken is refused', async () => {
  const id = await makeSession()
  const { archive } = await exportAs(id)
  const imported = await importFrom(archive)
  expect(imported).toMatchObject({ from: id, session_id: expect.stringMatching(/^ses_/) })
  expect((await store.inspect(imported.session_id)).manifest.session_id).toBe(imported.session_id)
  await using again = await store.resume(imported.session_id)
  expect(again.id).toBe(imported.session_id)
  expect(await importFrom(archive, 'chosen')).toMatchObject({ session_id: 'chosen' })
  await expect(importFrom(archive, 'chosen')).rejects.toMatchObject({ code: 'NAME_TAKEN' })
  await expect(importFrom(archive, '../x')).rejects.toMatchObject({ code: 'SESSION_ID_INVALID' })
  expect(readdirSync(join(home, 'sessions')).filter((name) => name.startsWith('.new'))).toEqual([])
})

test('an imported session has its key only under the id that stands for it, and its labels', async () => {
  const key = 'users/ümit'
  const session = await store.create({ key, labels: { project: 'x' } })
  await session.close()
  const { id } = session
  const { archive } = await exportAs(id)
  await store.remove(id)
  expect(await importFrom(archive)).toMatchObject({ session_id: id })
  await importFrom(archive, 'other')
  expect(await store.list({ keyPrefix: key })).toMatchObject([{ id, key }])
  expect(await store.list({ labels: { project: 'x' } })).toHaveLength(2)
})

test('tar and sha256sum read an archive, and an archive that GNU tar has repacked can be imported', async () => {
  const long = 'l'.repeat(128)
  await makeSession(long)
  writeFileSync(join(world.tmp, 'a.tar'), (await exportAs(long)).archive)
  execFileSync('tar', ['xf', 'a.tar'], { cwd: world.tmp })
  const out = execFileSync('sha256sum', ['-c', 'SHA256SUMS'], {
    cwd: join(world.tmp, long),
    encoding: 'utf8',
  })
  expect(out).toMatch(/^manifest\.json: OK$/m)
  expect(statSync(join(world.tmp, long, 'journal.log')).mode & 0o777).toBe(0o600)
  expect(statSync(join(world.tmp, long)).mode & 0o777).toBe(0o700)
  await makeSession('short')
  writeFileSync(join(world.tmp, 'c.tar'), (await exportAs('short')).archive)
  execFileSync('tar', ['xf', 'c.tar'], { cwd: world.tmp })
  execFileSync('tar', ['--format=gnu', '-cf', 'b.tar', './short'], { cwd: world.tmp })
  expect(await importFrom(readFileSync(join(world.tmp, 'b.tar')), 'again')).toMatchObject({ records: 4 })
})

test('an export of a session that is written to has a prefix of it, and can be imported', async () => {
  const session = await store.create({ id: 'busy' })
  const stop = new AbortController()
  const writing = (async () => {
    for (let n = 0; !stop.signal.aborted; n++) {
      await session.audit({ action: 'note', subject: String(n) })
      await session.append({ type: 'n', data: n })
    }
  })()
  try {
    for (let round = 0; round < 20; round++) {
      await new Promise((resolve) => setImmediate(resolve))
      const { archive, exported } = await exportAs('busy')
      const { session_id } = await importFrom(archive)
      const copy = await store.inspect(session_id)
      expect((await allOf(copy.events())).map(({ data }) => data)).toEqual(
        Array.from({ length: exported.records }, (_, n) => n),
      )
    }
  } finally {
    stop.abort()
    await writing
    await session.close()
  }
})

test('a damaged session is not exported', async () => {
  const id = await makeSession()
  const journal = join(home, 'sessions', id, 'journal.log')
  writeFileSync(journal, readFileSync(journal, 'utf8').replace('hello', 'jello'))
  await expect(exportAs(id)).rejects.toMatchObject({ code: 'JOURNAL_CORRUPT' })
})

test('an archive with a changed byte is refused, unless the byte is padding', async () => {
  await using small = await store.create({ id: 'small' })
  await small.append({ type: 'message', data: 1 })
  await small.audit({ action: 'note' })
  const { archive } = await exportAs('small')
  const into = join(world.tmp, 'into')
  const target = filesystemStore({ home: into })
  for (let at = 0; at < archive.length; at += 97) {
    const changed = Buffer.from(archive)
    changed[at] = (changed[at] ?? 0) ^ 0x01
    const id = `at-${at}`
    try {
      await importFrom(changed, id, into)
    } catch (error) {
      expect(error, `byte ${at}`).toMatchObject({ code: 'ARCHIVE_INVALID' })
      await expect(target.inspect(id)).rejects.toMatchObject({ code: 'NOT_FOUND' })
      continue
    }
    // The byte is padding.
    const events = await allOf((await target.inspect(id)).events())
    expect(events).toMatchObject([{ type: 'message', data: 1 }])
  }
  for (const length of [0, 100, 512, 1000, archive.length - 3000, archive.length - 1024])
    await expect(importFrom(archive.subarray(0, length), 'cut', into)).rejects.toMatchObject({
      code: 'ARCHIVE_INVALID',
    })
  expect(readdirSync(join(into, 'sessions')).filter((name) => name.startsWith('.new'))).toEqual([])
})

const lineOf = (epoch: number, body: string): string =>
  `${encodeLine(journalCodec, { seq: 1, at: 1, group: 1, epoch }, body, '').line}\n`

/** Makes an archive with these entries, as another program might. */
function hostile(entries: [name: string, text: string, change?: (header: Buffer) => void][]): Buffer {
  const blocks = entries.flatMap(([name, text, change]) => {
    const header = tarHeader({ name, kind: 'file', size: Buffer.byteLength(text) }, 0)
    change?.(header)
    return [header, Buffer.from(text), Buffer.alloc(paddingAfter(Buffer.byteLength(text)))]
  })
  return Buffer.concat([...blocks, tarEnd()])
}

/** Changes the type of an entry, and its checksum. */
function as(type: string): (header: Buffer) => void {
  return (header) => {
    header.write(type, 156, 'latin1')
    header.write('../../../etc/passwd', 157, 'latin1')
    header.fill(' ', 148, 156)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  }
}

const hostileArchives: [string, [string, string, ((header: Buffer) => void)?][]][] = [
  ['leads out of its directory', [['s/../../evil', 'x']]],
  ['is absolute', [['/etc/evil', 'x']]],
  ['has an odd session id', [['../manifest.json', '{}']]],
  ['is not a file of a session', [['s/.bashrc', 'x']]],
  ['is a lock', [['s/lock/1', 'x']]],
  ['is a segment with an impossible epoch', [['s/journal-1-999999999999999.log', '']]],
  ['is a symbolic link', [['s/journal.log', '', as('2')]]],
  ['is a hard link', [['s/journal.log', '', as('1')]]],
  ['is a device', [['s/journal.log', '', as('3')]]],
  ['is an extended header', [['s/journal.log', '', as('x')]]],
  [
    'is a duplicate',
    [
      ['s/journal.log', ''],
      ['s/journal.log', ''],
    ],
  ],
  [
    'belongs to a second session',
    [
      ['s/journal.log', ''],
      ['t/audit/audit.log', ''],
    ],
  ],
]

test.each(hostileArchives)(
  'an entry that %s is refused, and nothing is written outside',
  async (_, entries) => {
    mkdirSync(home, { mode: 0o700 })
    const before = readdirSync(world.tmp)
    await expect(importFrom(hostile(entries))).rejects.toMatchObject({ code: 'ARCHIVE_INVALID' })
    expect(readdirSync(world.tmp)).toEqual(before)
    expect(readdirSync(home)).toEqual(['sessions'])
    expect(readdirSync(join(home, 'sessions'))).toEqual([])
  },
)

/** Makes an archive with other contents and the right sums. */
async function forged(change: (files: Map<string, string>) => void): Promise<Buffer> {
  const id = 'forged'
  await using session = await store.create({ id })
  await session.append({ type: 'message', data: 1 })
  await session.close()
  const text = (await exportAs(id)).archive
  writeFileSync(join(world.tmp, 'f.tar'), text)
  execFileSync('tar', ['xf', 'f.tar'], { cwd: world.tmp })
  const files = new Map(
    ['stint-session.json', 'manifest.json', 'journal.log'].map((name) => [
      name,
      readFileSync(join(world.tmp, id, name), 'utf8'),
    ]),
  )
  change(files)
  return withSums(id, files)
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

function withSums(id: string, files: ReadonlyMap<string, string>): Buffer {
  const sums = [...files].map(([name, text]) => `${sha256(text)}  ${name}\n`)
  return hostile([...files, ['SHA256SUMS', sums.join('')] as const].map(([n, t]) => [`${id}/${n}`, t]))
}

test('an archive with right sums and an invalid record or manifest is refused', async () => {
  const changes: [(files: Map<string, string>) => void, RegExp][] = [
    [(files) => files.delete('manifest.json'), /manifest\.json is missing/],
    [(files) => files.set('manifest.json', '[]'), /its manifest is invalid/],
    [
      (files) =>
        files.set(
          'manifest.json',
          (files.get('manifest.json') ?? '').replace('"create"', '"create","title":7'),
        ),
      /its manifest is invalid/,
    ],
    [
      (files) =>
        files.set(
          'manifest.json',
          (files.get('manifest.json') ?? '').replace('"create"', '"create","secrets":[1]'),
        ),
      /references to secrets/,
    ],
    [(files) => files.set('journal.log', lineOf(1, '"type":"x",{')), /record 1 of its journal is invalid/],
    [
      (files) => files.set('journal.log', lineOf(9e14, '"type":"x","data":1')),
      /record 1 of its journal is invalid/,
    ],
    [(files) => files.set('journal.log', ''), /journal of forged is damaged/],
    [
      (files) => files.set('stint-session.json', '{"format":"stint-session","version":2}'),
      /version 1 of archives, not 2/,
    ],
  ]
  for (const [change, why] of changes) {
    const archive = await forged(change)
    await store.remove('forged')
    await expect(importFrom(archive), String(why)).rejects.toMatchObject({
      code: 'ARCHIVE_INVALID',
      message: expect.stringMatching(why),
    })
  }
})

const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`

/** Puts a text into a blob, and names it in the only record of the journal. */
const withBlob =
  (text: string) =>
  (files: Map<string, string>): void => {
    const name = sha256(text)
    files.set(`blobs/${name}`, text)
    files.set('journal.log', lineOf(1, `"type":"x","blob":{"sha256":"${name}","bytes":${text.length}}`))
  }

const withRecord =
  (body: string) =>
  (files: Map<string, string>): void =>
    void files.set('journal.log', lineOf(1, body))

const withAuditLine =
  (data: string) =>
  (files: Map<string, string>): void => {
    const header = { seq: 1, at: 1, group: 1, epoch: 1 }
    const { line } = encodeLine(auditCodec, header, `"type":"intent","data":${data}`, auditCodec.genesis)
    files.set('audit/audit.log', `${line}\n`)
  }

const inManifest =
  (field: string) =>
  (files: Map<string, string>): void =>
    void files.set('manifest.json', (files.get('manifest.json') ?? '').replace('{', `{${field},`))

const unreadable: [string, (files: Map<string, string>) => void][] = [
  ['a slot that is null', withRecord('"type":"stint.slot","data":1,"slot":null')],
  ['a slot without a name', withRecord('"type":"stint.slot","data":1,"slot":{"version":"1"}')],
  ['a spool entry that is a number', withRecord('"type":"x","data":1,"spool":7')],
  ['no data', withRecord('"type":"x"')],
  ['a blob that is null', withRecord('"type":"x","blob":null')],
  ['a blob without a name', withRecord('"type":"x","blob":{"sha256":"\\u001b]0;pwned\\u0007","bytes":1}')],
  ['a blob that is not JSON', withBlob('no JSON')],
  ['a blob that is nested too deeply', withBlob(deep)],
  ['data that is nested too deeply', withRecord(`"type":"x","data":${deep}`)],
  ['a time that is in it twice', withRecord('"type":"x","data":1,"at":"never"')],
  ['an action that is an object', withAuditLine('{"action":{"toString":1}}')],
  ['a message that is an object', withAuditLine('{"action":"a","error":{"message":{"toString":1}}}')],
  ['a manifest that is nested too deeply', inManifest(`"more":${deep}`)],
  [
    'a version that is an object',
    (files) => files.set('stint-session.json', '{"format":"stint-session","version":{"toString":1}}'),
  ],
]

test.each(unreadable)('an archive with %s is refused, whatever its checksums say', async (_, change) => {
  const archive = await forged(change)
  const into = join(world.tmp, 'into')
  const refused = importFrom(archive, undefined, into)
  await expect(refused).rejects.toMatchObject({
    code: 'ARCHIVE_INVALID',
    // oxlint-disable-next-line no-control-regex -- that is what must not be there
    message: expect.not.stringMatching(/[\u0000-\u001f]/),
  })
  expect(readdirSync(join(into, 'sessions'))).toEqual([])
})

test('every command can read what was imported, whatever an archive contains', async () => {
  let files = new Map<string, string>()
  await forged((made) => (files = made))
  const json = fc.json({ maxDepth: 3 })
  const oneOf = (...values: string[]) => fc.oneof(fc.constantFrom(...values), json)
  const field = fc.oneof(
    fc.tuple(fc.constant('data'), json),
    fc.tuple(
      fc.constant('slot'),
      oneOf('null', '{}', '{"ext":"a","version":"1"}', '{"ext":1,"version":"1"}'),
    ),
    fc.tuple(fc.constant('blob'), oneOf('null', '{}', '{"sha256":1}', `{"sha256":"${'0'.repeat(64)}"}`)),
    fc.tuple(fc.constant('spool'), oneOf('"a"', 'null')),
    fc.tuple(fc.constant('audit'), oneOf('null', '{"count":1}')),
    fc.tuple(fc.constantFrom('seq', 'at', 'group', 'epoch', 'type', '__proto__'), json),
  )
  const type = fc.constantFrom('x', 'stint.slot', 'stint.turn', 'stint.lost')
  let imported = 0
  await fc.assert(
    fc.asyncProperty(type, fc.array(field, { maxLength: 4 }), async (name, fields) => {
      const body = [`"type":"${name}"`, ...fields.map(([key, value]) => `"${key}":${value}`)].join(',')
      const into = join(world.tmp, `into-${imported}`)
      try {
        withRecord(body)(files)
        await importFrom(withSums('forged', files), 'copy', into)
      } catch (error) {
        expect(error).toMatchObject({ code: 'ARCHIVE_INVALID' })
        return
      }
      imported += 1
      const inspection = await filesystemStore({ home: into }).inspect('copy')
      expect(await allOf(inspection.events({ all: true }))).toHaveLength(1)
      expect(await inspection.tail(1, { all: true })).toHaveLength(1)
      expect((await inspection.health()).ok).toBe(true)
      JSON.stringify([await inspection.slots(), await inspection.unsettled(), inspection.summary])
    }),
    { numRuns: 200 },
  )
  expect(imported).toBeGreaterThan(0)
})

test('a home that is a link is not written to', async () => {
  const { archive } = await exportAs(await makeSession())
  mkdirSync(join(world.tmp, 'target'))
  symlinkSync(join(world.tmp, 'target'), join(world.tmp, 'link'))
  await expect(importFrom(archive, undefined, join(world.tmp, 'link'))).rejects.toMatchObject({
    code: 'HOME_UNSAFE',
  })
  expect(readdirSync(join(world.tmp, 'target'))).toEqual([])
})

test.each(['registered', 'tokens'] as const)(
  'an import of a session that masks %s does the same',
  async (mask) => {
    const token = `gh${'p_'}${'Ab3dEf9hIj'.repeat(4)}`
    await (await store.create({ id: 'original', mask })).close()
    const { session_id: id } = await importFrom((await exportAs('original')).archive, 'copy')
    await using copy = await store.resume(id)
    await copy.append({ type: 'note', data: token })
    expect((await copy.tail(1))[0]?.data).toBe(mask === 'tokens' ? '<masked:github-token>' : token)
  },
)
