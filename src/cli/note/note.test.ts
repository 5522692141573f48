import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dataOf, errorOf, SessionWorld } from '../../../test/support/session-world.ts'

/** A world with a workspace, in which commands run. */
class NoteWorld extends SessionWorld {
  readonly here = join(this.tmp, 'here')

  constructor() {
    super()
    mkdirSync(join(this.here, '.git'), { recursive: true })
  }

  json(...args: string[]) {
    return this.stint([...args, '--json'], { cwd: this.here })
  }

  /** The texts of the notes that wait here. */
  async waiting(): Promise<string[]> {
    const { notes } = dataOf(await this.json('note', 'list')) as { notes: { text: string }[] }
    return notes.map(({ text }) => text)
  }

  acquire(session: string) {
    return this.json('lock', 'acquire', '--session', session)
  }

  release(session: string) {
    return this.json('lock', 'release', '--session', session)
  }
}

test('the next session that gets the workspace is shown a note, once', async () => {
  await using world = new NoteWorld()
  await world.acquire('first')
  const added = dataOf(await world.json('note', 'add', 'half done, see "PLAN.md"'))
  expect(added).toMatchObject({ to: null, workspace: world.here, shown_at: null })
  expect(added.expires_at - added.at).toBe(30 * 86_400_000)
  expect(await world.waiting()).toEqual(['half done, see "PLAN.md"'])
  expect((await world.acquire('second')).code).toBe(4)
  expect(await world.waiting()).toHaveLength(1)
  await world.release('first')
  const { warnings } = (await world.acquire('second')).envelope()
  expect(warnings).toEqual([expect.stringMatching(/^Note from \S+, .* ago: "half done, see \\"PLAN.md\\""$/)])
  expect(await world.waiting()).toEqual([])
  await world.release('second')
  expect((await world.acquire('third')).envelope().warnings).toEqual([])
  const { notes } = dataOf(await world.json('note', 'list', '--all'))
  expect(notes).toEqual([{ ...added, shown_at: expect.any(Number), expires_at: expect.any(Number) }])
})

test('a note to a session is shown to that session only, in any workspace', async () => {
  await using world = new NoteWorld()
  await world.acquire('0f5e2c-reader')
  await world.release('0f5e2c-reader')
  expect(dataOf(await world.json('note', 'add', '--to', '0f5e', 'mind the gap')).to).toBe('0f5e2c-reader')
  expect((await world.acquire('other')).envelope().warnings).toEqual([])
  const elsewhere = join(world.tmp, 'elsewhere')
  mkdirSync(join(elsewhere, '.git'), { recursive: true })
  const there = await world.stint(['lock', 'acquire', '--session', '0f5e2c-reader', '--json'], {
    cwd: elsewhere,
  })
  expect(there.envelope().warnings).toEqual([expect.stringContaining(`about ${world.here} from`)])
  const unknown = await world.json('note', 'add', '--to', 'nobody-yet', 'later')
  expect(unknown.envelope().warnings?.[0]).toContain('no session nobody-yet was in')
})

test('a session is not shown its own note', async () => {
  await using world = new NoteWorld()
  const mine = { STINT_SESSION_ID: 'mine' }
  await world.stint(['note', 'add', 'from me'], { cwd: world.here, env: mine })
  expect((await world.acquire('mine')).envelope().warnings).toEqual([])
  await world.release('mine')
  expect((await world.acquire('next')).envelope().warnings).toEqual([expect.stringContaining('from mine')])
})

test('a program under run --lock is shown the notes on stderr', async () => {
  await using world = new NoteWorld()
  await world.json('note', 'add', 'watch out')
  const { stderr, code } = await world.stint(['run', '--lock', '--', 'true'], { cwd: world.here })
  expect([code, stderr.includes('"watch out"')]).toEqual([0, true])
})

test('a note has no secrets, is private, and is mentioned in the history without its text', async () => {
  await using world = new NoteWorld()
  const env = { MY_API_TOKEN: 'hunter2-hunter2' }
  await world.stint(['note', 'add', 'log in with hunter2-hunter2'], { cwd: world.here, env })
  const place = join(world.home, 'notes', 'workspace')
  const [key = ''] = readdirSync(place)
  const [name = ''] = readdirSync(join(place, key))
  expect(readFileSync(join(place, key, name), 'utf8')).not.toContain('hunter2')
  expect(
    [place, join(place, key), join(place, key, name)].map((path) => statSync(path).mode & 0o777),
  ).toEqual([0o700, 0o700, 0o600])
  const history = await world.stint(['lock', 'history', '--json'], { cwd: world.here })
  expect(dataOf(history).activities).toMatchObject([{ kind: 'note', purpose: null }])
  expect(history.stdout).not.toContain('log in')
})

test('notes that are older than 30 days are not shown, and the sweep removes them', async () => {
  await using world = new NoteWorld()
  await world.json('note', 'add', 'long ago')
  const place = join(world.home, 'notes', 'workspace')
  const directory = join(place, readdirSync(place)[0] ?? '')
  const path = join(directory, readdirSync(directory)[0] ?? '')
  const old = JSON.parse(readFileSync(path, 'utf8')) as { at: number }
  writeFileSync(path, JSON.stringify({ ...old, at: old.at - 31 * 86_400_000 }))
  utimesSync(path, 0, 0)
  expect((await world.acquire('next')).envelope().warnings).toEqual([])
  await world.json('note', 'add', 'today')
  await world.json('sweep', '--scope', 'locks')
  expect(existsSync(path)).toBe(false)
  expect(await world.waiting()).toEqual(['today'])
})

test.each([
  [['add'], 'a note needs a text'],
  [['add', ' '], 'a note needs a text'],
  [['add', 'two', 'words'], 'as one argument'],
  [['add', 'x'.repeat(501)], 'at most 500 characters'],
  [['add', 'x', '--workspace', '.', '--resource', 'r'], 'exclude each other'],
  [['list', '--all', '--resource', 'r'], 'exclude each other'],
])('note %j is refused, and leaves nothing', async (args, message) => {
  await using world = new NoteWorld()
  const result = await world.json('note', ...args)
  expect([result.code, errorOf(result)?.code]).toEqual([2, 'ARG_ERROR'])
  expect(errorOf(result)?.message).toContain(message)
  expect(existsSync(join(world.home, 'notes'))).toBe(false)
})
