import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { jsonLines, SessionWorld } from '../../../test/support/session-world.ts'
import { stintBin } from '../../../test/support/world.ts'

const search = (world: SessionWorld, ...args: string[]) =>
  world.stint(['sessions', 'search', ...args], { cwd: world.tmp })

test('search prints one line an event: its session, number, time, type, and the text around the match', async () => {
  await using world = new SessionWorld()
  await using session = await world.store.create({ id: 'mine' })
  await session.append({ type: 'message', data: { text: 'first\nsay "héllo" \u001b[2J twice' } })
  const { stdout, code } = await search(world, 'say "héllo"')
  expect(code).toBe(0)
  expect(stdout).toMatch(
    /^mine {2}1 {2}\S+ \S+ {2}message {2}data\.text: first say "héllo" \\u001b\[2J twice\n$/,
  )
  const [found, ...more] = jsonLines((await search(world, 'twice', '--json')).stdout)
  expect(more).toEqual([])
  expect(found).toEqual({
    session_id: 'mine',
    seq: 1,
    at: expect.any(Number),
    type: 'message',
    path: 'data.text',
    excerpt: 'first say "héllo" \u001b[2J twice',
  })
})

test('search takes a regular expression, filters, and a number of events', async () => {
  await using world = new SessionWorld()
  const workspace = join(world.tmp, 'here')
  mkdirSync(workspace)
  for (const [id, tool] of [
    ['a', 'one'],
    ['b', 'two'],
  ] as const) {
    await using session = await world.store.create({ id, tool, ...(tool === 'two' && { workspace }) })
    for (let n = 1; n <= 3; n++)
      await session.append({ type: n === 2 ? 'tool' : 'message', data: { exit: n } })
  }
  const found = async (...args: string[]) =>
    jsonLines((await search(world, '--json', ...args)).stdout).map(({ session_id, seq }) => session_id + seq)
  expect(await found('--regex', '^[23]$')).toEqual(['b3', 'b2', 'a3', 'a2'])
  expect(await found('exit', '-n', '4')).toEqual(['b3', 'b2', 'b1', 'a3'])
  expect(await found('exit', '--type', 'tool')).toEqual(['b2', 'a2'])
  expect(await found('exit', '--tool', 'one', '-n', '1')).toEqual(['a3'])
  expect(await found('exit', '--workspace', workspace, '--since', '1h')).toEqual(['b3', 'b2', 'b1'])
  rmSync(workspace, { recursive: true })
  expect(await found('exit', '--workspace', workspace)).toEqual(['b3', 'b2', 'b1'])
  expect(await found('exit', '-n', '0')).toEqual([])
  expect(await found('not there')).toEqual([])
})

test('search stops when its reader does', async () => {
  await using world = new SessionWorld()
  await using session = await world.store.create({ id: 'mine' })
  for (let n = 0; n < 5000; n++) void session.append({ type: 'note', data: `word ${'x'.repeat(300)}` })
  await session.append({ type: 'note' })
  const script = '"$0" "$1" sessions search word | head -n 2; echo "${PIPESTATUS[*]}"'
  const { stdout } = spawnSync('bash', ['-c', script, process.execPath, stintBin], { env: world.env })
  const lines = stdout.toString().trimEnd().split('\n')
  expect([lines.length, lines.at(-1)]).toEqual([3, '0 0'])
})

test('search passes over a session that cannot be read, and says so', async () => {
  await using world = new SessionWorld()
  await world.make('good', 1)
  await world.make('bad', 1)
  writeFileSync(world.path('bad', 'manifest.json'), 'x')
  const { stdout, stderr, code } = await search(world, 'message')
  expect([code, stdout.split('\n').length]).toEqual([0, 2])
  expect(stderr).toContain('not searched: bad: the manifest of bad is invalid')
})

test.each([
  [[], 'TEXT is missing'],
  [[''], 'give exactly one text'],
  [['two', 'words'], 'unexpected argument "words"'],
  [['--regex', '('], 'not a regular expression: ('],
])('search refuses %j', async (args, message) => {
  await using world = new SessionWorld()
  const { stderr, stdout, code } = await search(world, ...args)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(message)
})
