import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { generationsOf } from '../../test/support/vault-contents.ts'
import { openToAll, stintBin, unprivileged, World } from '../../test/support/world.ts'
import { readRecord, recordName } from './conversation-record.ts'
import { type Copied, copyConversation, isAsRecorded } from './copy-conversation.ts'
import type { Source } from './find-conversations.ts'

/** An agent's directory with one transcript, and a vault for it. */
class Desk extends World {
  readonly vault = join(this.tmp, 'vault/claude/one')
  path = join(this.tmp, 'project/a.jsonl')

  constructor(parent?: string) {
    super({}, parent)
    mkdirSync(dirname(this.path))
  }

  get source(): Source {
    return { agent: 'claude', id: 'one', root: this.tmp, files: [{ name: 'a.jsonl', path: this.path }] }
  }

  copy(hasEnded = true): Promise<Copied> {
    return copyConversation(this.vault, this.source, { hasEnded })
  }

  get generations(): string[] {
    return generationsOf(this.vault, 'a.jsonl')
  }

  /** The number of lines in the record. */
  get lines(): number {
    return readFileSync(join(this.vault, recordName), 'utf8').split('\n').length - 1
  }

  /** Makes the file look old, as most files are that a sync meets. */
  age(): void {
    utimesSync(this.path, 1_700_000_000, 1_700_000_000 + statSync(this.path).size)
  }
}

const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\0', 'é'), maxLength: 12 })
const step = fc.oneof(
  fc.record({ do: fc.constant('append'), text }),
  fc.record({ do: fc.constant('rewrite'), text }),
  fc.record({ do: fc.constant('replace'), text }),
  fc.record({ do: fc.constant('cut'), part: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({ do: fc.constant('move') }),
  fc.record({ do: fc.constant('copy') }),
)

test('any sequence of appends, rewrites, cuts and moves comes back: each generation as it was at its last copy', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step as fc.Arbitrary<Step>, { maxLength: 40 }), async (steps) => {
      await using desk = new Desk()
      const expected: string[] = []
      writeFileSync(desk.path, '')
      for (const [number, each] of steps.entries()) {
        apply(desk, each, number)
        if (each.do !== 'copy') continue
        await desk.copy()
        const now = readFileSync(desk.path, 'latin1')
        const last = expected.at(-1)
        if (now === '') continue
        if (last !== undefined && now.startsWith(last)) expected.pop()
        expected.push(now)
        expect(desk.generations).toEqual(expected)
      }
    }),
    { numRuns: 60 },
  )
})

interface Step {
  do: 'append' | 'rewrite' | 'replace' | 'cut' | 'move' | 'copy'
  text?: string
  part?: number
}

function apply(desk: Desk, { do: what, text = '', part = 0 }: Step, number: number): void {
  if (what === 'append') appendFileSync(desk.path, text)
  if (what === 'rewrite') writeFileSync(desk.path, text)
  if (what === 'replace') {
    writeFileSync(`${desk.path}.new`, text)
    renameSync(`${desk.path}.new`, desk.path)
  }
  if (what === 'cut') truncateSync(desk.path, Math.floor(part * statSync(desk.path).size))
  if (what !== 'move') return
  const path = join(desk.tmp, `project-${number}`, 'a.jsonl')
  mkdirSync(dirname(path))
  renameSync(desk.path, path)
  desk.path = path
}

test('a file whose size, time and inode are as noted is not read, and costs no line', async () => {
  await using desk = new Desk()
  writeFileSync(desk.path, 'one\n')
  desk.age()
  await desk.copy()
  expect(isAsRecorded(readRecord(desk.vault), desk.source)).toBe(true)
  const { mtimeMs } = statSync(desk.path)
  writeFileSync(desk.path, 'two\n')
  utimesSync(desk.path, mtimeMs / 1000, mtimeMs / 1000)
  expect(await desk.copy()).toMatchObject({ bytes: 0 })
  expect(desk.generations).toEqual(['one\n'])
  expect(desk.lines).toBe(1)
})

test('a file that was written to a moment ago is read again: it can change without a new time', async () => {
  await using desk = new Desk()
  const now = 1_800_000_000
  vi.useFakeTimers({ toFake: ['Date'], now: now * 1000 + 10 })
  try {
    for (const text of ['one\n', 'two\n']) {
      writeFileSync(desk.path, text)
      utimesSync(desk.path, now, now)
      await desk.copy()
    }
    expect(desk.generations).toEqual(['one\n', 'two\n'])
  } finally {
    vi.useRealTimers()
  }
})

test('an unfinished last line waits until it is finished, or the session has ended, or the file is quiet', async () => {
  await using desk = new Desk()
  writeFileSync(desk.path, 'one\n{"tw')
  await desk.copy(false)
  expect(desk.generations).toEqual(['one\n'])
  await desk.copy(false)
  expect(desk.lines).toBe(1)
  appendFileSync(desk.path, 'o"}\n{"thr')
  await desk.copy(false)
  expect(desk.generations).toEqual(['one\n{"two"}\n'])
  await desk.copy()
  expect(desk.generations).toEqual(['one\n{"two"}\n{"thr'])
  // The agent goes on in the middle of the line that the vault has taken.
  appendFileSync(desk.path, 'ee"')
  await desk.copy(false)
  expect(desk.generations).toEqual(['one\n{"two"}\n{"thr'])
  appendFileSync(desk.path, '}\nfour')
  desk.age()
  await desk.copy(false)
  expect(desk.generations).toEqual(['one\n{"two"}\n{"three"}\nfour'])
})

test('a middle that was rewritten, with the length and the end as before, begins a generation', async () => {
  await using desk = new Desk()
  writeFileSync(desk.path, 'one\ntwo\nthree\n')
  await desk.copy()
  writeFileSync(desk.path, 'one\nTWO\nthree\nfour\n')
  await desk.copy()
  expect(desk.generations).toEqual(['one\ntwo\nthree\n', 'one\nTWO\nthree\nfour\n'])
})

test('a file of another clock, in the future or of 1970, is copied like any other', async () => {
  await using desk = new Desk()
  for (const [seconds, line] of [
    [4_000_000_000, 'future\n'],
    [0, 'past\n'],
  ] as const) {
    appendFileSync(desk.path, line)
    utimesSync(desk.path, seconds, seconds)
    await desk.copy(false)
    expect(isAsRecorded(readRecord(desk.vault), desk.source)).toBe(true)
  }
  expect(desk.generations).toEqual(['future\npast\n'])
})

test('bytes that no line acknowledges are cut back, and a damaged line of the record is left out', async () => {
  await using desk = new Desk()
  writeFileSync(desk.path, 'one\n')
  await desk.copy()
  appendFileSync(join(desk.vault, recordName), '{"at":1,"file":"a.js\n')
  appendFileSync(join(desk.vault, '1/a.jsonl'), 'torn')
  appendFileSync(desk.path, 'two\n')
  await desk.copy()
  expect(desk.generations).toEqual(['one\ntwo\n'])
  expect(readFileSync(join(desk.vault, '1/a.jsonl'), 'utf8')).toBe('one\ntwo\n')
  expect(desk.lines).toBe(1)
})

test('a stored file that was damaged is not continued: the next copy begins a generation', async () => {
  await using desk = new Desk()
  writeFileSync(desk.path, 'one\n')
  await desk.copy()
  truncateSync(join(desk.vault, '1/a.jsonl'), 2)
  appendFileSync(desk.path, 'two\n')
  await desk.copy()
  expect(readFileSync(join(desk.vault, '2/a.jsonl'), 'utf8')).toBe('one\ntwo\n')
})

test('lines of 50 MB, NUL bytes and bytes that are no text are kept as they are', async () => {
  await using desk = new Desk()
  const long = Buffer.alloc(50 << 20, 'x')
  const bytes = Buffer.concat([long, Buffer.from('\n\0\0\xff\xfe\n', 'latin1')])
  writeFileSync(desk.path, bytes)
  await desk.copy(false)
  appendFileSync(desk.path, Buffer.concat([long, Buffer.from('\n')]))
  await desk.copy(false)
  expect(generationsOf(desk.vault, 'a.jsonl')[0]?.length).toBe(bytes.length + long.length + 1)
  expect(readFileSync(join(desk.vault, '1/a.jsonl')).equals(readFileSync(desk.path))).toBe(true)
})

test('several copiers at once repeat no byte', async () => {
  await using desk = new Desk()
  for (let round = 1; round <= 5; round++) {
    appendFileSync(desk.path, `${'x'.repeat(1000)}${round}\n`)
    await Promise.all(Array.from({ length: 6 }, () => desk.copy(false)))
    expect(desk.generations).toEqual([readFileSync(desk.path, 'latin1')])
    expect(desk.lines).toBe(1)
  }
})

test('a link, a directory and a pipe in place of a file are reported, and the others are copied', async () => {
  await using desk = new Desk()
  writeFileSync(desk.path, 'one\n')
  symlinkSync('/etc/passwd', join(desk.tmp, 'link'))
  await desk.start('mkfifo', [join(desk.tmp, 'pipe')]).finished
  const names = ['link', 'pipe', 'project', 'missing']
  const files = [...names.map((name) => ({ name, path: join(desk.tmp, name) })), ...desk.source.files]
  const { unread } = await copyConversation(desk.vault, { ...desk.source, files })
  expect(unread.map(({ path, error }) => [path.slice(desk.tmp.length + 1), error])).toEqual([
    ['link', 'ELOOP'],
    ['pipe', 'EISDIR'],
    ['project', 'EISDIR'],
  ])
  expect(desk.generations).toEqual(['one\n'])
})

test('a file that may not be read is reported, and the others are copied', async () => {
  await using desk = new Desk(openToAll)
  const open = join(dirname(desk.path), 'b.jsonl')
  for (const path of [desk.path, open]) writeFileSync(path, 'one\n')
  chmodSync(desk.path, 0)
  chmodSync(desk.tmp, 0o777)
  const files = [...desk.source.files, { name: 'b.jsonl', path: open }]
  const code = `
    const { copyConversation } = await import(${JSON.stringify(join(stintBin, '../../vault/copy-conversation.js'))})
    const [vault, source] = process.argv.slice(1)
    process.stdout.write(JSON.stringify(await copyConversation(vault, JSON.parse(source))))`
  const args = ['--input-type=module', '-e', code, desk.vault, JSON.stringify({ ...desk.source, files })]
  const { stdout } = await desk.start(process.execPath, args, { cwd: '/', ...unprivileged }).finished
  expect(JSON.parse(stdout)).toMatchObject({
    bytes: 4,
    unread: [{ path: desk.path, error: 'EACCES' }],
  })
  expect(generationsOf(desk.vault, 'b.jsonl')).toEqual(['one\n'])
})

test('files are private, and names of directories cannot lead out of the vault', async () => {
  await using desk = new Desk()
  writeFileSync(desk.path, 'one\n')
  await desk.copy()
  const modes = ['', '1', '1/a.jsonl', recordName].map(
    (name) => statSync(join(desk.vault, name)).mode & 0o777,
  )
  expect(modes.map((mode) => mode.toString(8))).toEqual(['700', '700', '600', '600'])
  const [line = ''] = readFileSync(join(desk.vault, recordName), 'utf8').split('\n')
  for (const file of ['../../b', '/etc/passwd', 'a/../../b', '', 'a\0b'])
    appendFileSync(join(desk.vault, recordName), `${JSON.stringify({ ...JSON.parse(line), file })}\n`)
  expect([...readRecord(desk.vault).files.keys()]).toEqual(['a.jsonl'])
})

test('two copies of a conversation in two directories of the agent are both kept, and settle', async () => {
  await using desk = new Desk()
  const paths = ['left', 'right'].map((name) => join(desk.tmp, name, 'a.jsonl'))
  for (const [number, path] of paths.entries()) {
    mkdirSync(dirname(path))
    writeFileSync(path, `${number}\n`)
    utimesSync(path, 1_700_000_000, 1_700_000_000)
  }
  for (let round = 0; round < 3; round++)
    for (const path of paths) {
      desk.path = path
      await desk.copy()
    }
  expect(desk.generations).toEqual(['0\n', '1\n'])
  expect(desk.lines).toBe(2)
  expect(readdirSync(desk.vault).filter((name) => /^\d+$/.test(name))).toEqual(['1', '2'])
})

test('a stored file that a damaged record does not name stays as it is', async () => {
  await using desk = new Desk()
  writeFileSync(desk.path, 'first\n')
  await desk.copy()
  writeFileSync(join(desk.vault, recordName), 'damaged\n')
  writeFileSync(desk.path, 'second\n')
  await desk.copy()
  expect(readFileSync(join(desk.vault, '1/a.jsonl'), 'utf8')).toBe('first\n')
  expect(readFileSync(join(desk.vault, '2/a.jsonl'), 'utf8')).toBe('second\n')
})
