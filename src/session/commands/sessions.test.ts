import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Answer, dataOf, errorOf, jsonLines, SessionWorld } from '../../../test/support/session-world.ts'
import { filesystemStore } from '../index.ts'
import { du } from '../../../test/support/du.ts'
import { Terminal } from '../../../test/support/terminal.ts'
import { stintBin, until } from '../../../test/support/world.ts'

test('list shows the newest 20 sessions with their facts and states, and all of them with --all', async () => {
  await using world = new SessionWorld()
  for (let n = 0; n < 25; n++) await world.make(`s-${n}`, 1)
  const { sessions, total } = dataOf(await world.run('list'))
  expect([sessions.length, total]).toEqual([20, 25])
  expect(sessions[0]).toMatchObject({
    session_id: 's-24',
    state: 'closed',
    tool: 'test',
    title: 'about s-24',
    records: 1,
    bytes: expect.any(Number),
    last_at: expect.any(Number),
    holder: null,
  })
  expect(dataOf(await world.run('list', '--all')).sessions).toHaveLength(25)
  expect(dataOf(await world.run('list', '--limit', '3')).sessions).toHaveLength(3)
  expect(dataOf(await world.run('list', '--tool', 'other'))).toEqual({ sessions: [], total: 0 })
  expect(errorOf(await world.run('list', '--all', '--limit', '3'))?.code).toBe('ARG_ERROR')
})

test('list distinguishes active, closed, crashed and damaged sessions', async () => {
  await using world = new SessionWorld()
  await world.make('closed')
  await world.make('damaged')
  world.damage('damaged', 2)
  await expect(world.store.resume('damaged')).rejects.toThrow('damaged')
  const crashed = await world.hold('crashed')
  crashed.child.kill('SIGKILL')
  await crashed.finished
  await world.hold('active', 'think hard')
  const { sessions } = dataOf(await world.run('list'))
  const states = Object.fromEntries(sessions.map((each: Answer) => [each.session_id, each.state]))
  expect(states).toEqual({ active: 'active', closed: 'closed', crashed: 'crashed', damaged: 'damaged' })
  expect(sessions.find((each: Answer) => each.session_id === 'active').holder).toMatchObject({
    liveness: 'alive',
    kind: 'writer',
    purpose: 'think hard',
  })
  expect(dataOf(await world.run('list', '--state', 'crashed')).sessions).toHaveLength(1)
})

test('list shows many sessions, and filters them by workspace', async () => {
  await using world = new SessionWorld()
  mkdirSync(join(world.tmp, 'here'))
  for (let n = 0; n < 60; n++) {
    const workspace = n % 10 === 0 ? join(world.tmp, 'here') : '/elsewhere'
    await (await world.store.create({ id: `s-${n}`, workspace })).close()
  }
  expect(dataOf(await world.run('list', '--all')).sessions).toHaveLength(60)
  const here = await world.stint(['sessions', 'list', '--all', '--workspace', '.', '--json'], {
    cwd: join(world.tmp, 'here'),
  })
  expect(dataOf(here).sessions).toHaveLength(6)
})

test('sessions have the size that du finds', async () => {
  await using world = new SessionWorld()
  await using session = await world.store.create({ id: 'mine', tool: 'x' })
  await session.append({ type: 'note', data: { text: 'x'.repeat(400_000) } })
  await session.close()
  const [mine] = dataOf(await world.stint(['sessions', 'list', '--json'])).sessions
  expect(mine.disk_bytes).toBe(du(join(world.home, 'sessions/mine')))
})

test('on a terminal commands print tables and sentences, and escape control characters in stored text', async () => {
  await using world = new SessionWorld()
  await using session = await world.store.create({
    id: 'mine',
    tool: 'x',
    title: 'red \u001b[31m alert\nnext',
  })
  await session.append({ type: 'note', data: { text: '\u001b]0;title\u0007' } })
  await session.close()
  await using terminal = await Terminal.open(world)
  terminal.enter('clear; stint sessions list')
  await terminal.shows(
    /^ID +STATE +AGE +SIZE +RECORDS +TOOL +TITLE\nmine +closed +\S+ .* 1 +x +red \\u001b\[31m alert\\u000anext\n\[0\]/m,
  )
  terminal.enter('clear; stint sessions tail mine')
  await terminal.shows(
    /^1 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}note {2}\{"text":"\\u001b\]0;title\\u0007"\}\n\[0\]/m,
  )
  terminal.enter('clear; stint sessions show mine')
  await terminal.shows(/^holds +1 record, /m)
  terminal.enter('clear; stint sessions list --sort size')
  await terminal.shows(/^ID +STATE +AGE +SIZE .*\nmine +closed .*\n\[0\]/m)
  terminal.enter('clear; stint sessions rm mi')
  await terminal.shows(/Move it to the trash\? \[y\/N\]$/)
  terminal.enter('n')
  await terminal.shows(/Nothing was changed\.\n\[1\] ready>$/)
  terminal.enter('clear; stint sessions rm mi')
  await terminal.shows(/Move it to the trash\? \[y\/N\]$/)
  terminal.enter('y')
  await terminal.shows(/^mine is in .*trash\n\[0\] ready>$/m)
  expect(readdirSync(join(world.home, 'trash'))).toEqual(['mine'])
})

test('a session is named by its agent, by a dot for the newest one here, or as a table shows its id', async () => {
  await using world = new SessionWorld()
  const here = join(world.tmp, 'work')
  mkdirSync(here)
  const create = async (id: string, tool: string, workspace: string): Promise<void> =>
    await (await world.store.create({ id, tool, workspace })).close()
  await create('0f5e2a31-77c0-4f31', 'claude', here)
  await create('0f5e2a31-77c0-9e55', 'codex', here)
  await create('last', 'codex', world.tmp)
  const show = async (name: string): Promise<unknown> =>
    dataOf(await world.stint(['sessions', 'show', name, '--json'], { cwd: here })).session_id
  expect(await show('claude')).toBe('0f5e2a31-77c0-4f31')
  expect(await show('codex')).toBe('last')
  expect(await show('.')).toBe('0f5e2a31-77c0-9e55')
  expect(await show('0f5e…4f31')).toBe('0f5e2a31-77c0-4f31')
  expect(errorOf(await world.run('show', '0f5e…'))?.code).toBe('ARG_ERROR')
})

test('a session with a key is listed under its key, and found by it', async () => {
  await using world = new SessionWorld({ STINT_OUTPUT: '' })
  const key = 'threads/ümit 7'
  await (await world.store.create({ key, tool: 'graph' })).close()
  expect((await world.stint(['sessions', 'list'])).stdout).toMatch(/^key_.* graph .*threads\/ümit 7$/m)
  const { stdout } = await world.run('show', key, '--json')
  expect(JSON.parse(stdout)).toMatchObject({ data: { key } })
  expect(errorOf(await world.run('show', 'threads/other'))).toMatchObject({
    code: 'SESSION_ID_INVALID',
    message: '"threads/other" is not a session id, and no session has it as its key',
    suggestion: `There is only ${key} (closed).`,
  })
  expect(errorOf(await world.run('show', 'none'))?.suggestion).toBe(`There is only ${key} (closed).`)
  expect((await world.run('rm', key)).code).toBe(0)
})

test('a session that does not exist is refused with those that do', async () => {
  await using world = new SessionWorld()
  const refuse = async (name: string) => errorOf(await world.run('show', name))
  expect(await refuse('mine')).toMatchObject({ code: 'NOT_FOUND', suggestion: 'There are no sessions yet.' })
  await world.make('theirs')
  expect(await refuse('mine')).toMatchObject({
    message: 'there is no session mine',
    suggestion: 'There is only theirs (closed).',
  })
  await world.make('newer')
  expect(await refuse('mine')).toMatchObject({
    suggestion: 'The newest are newer (closed), theirs (closed). `stint sessions list` shows them.',
  })
  expect(await refuse('.')).toMatchObject({ message: 'there is no session of this workspace' })
})

test('an id may be shortened while it stays unique; otherwise the candidates are listed', async () => {
  await using world = new SessionWorld()
  for (const id of ['alpha-1', 'alpha-2', 'beta']) await world.make(id, 1)
  await using minted = await world.store.create()
  await minted.close()
  expect(dataOf(await world.run('show', 'b')).session_id).toBe('beta')
  expect(dataOf(await world.run('show', minted.id.slice(4, 20))).session_id).toBe(minted.id)
  const unclear = await world.run('show', 'alpha')
  expect(unclear.code).toBe(2)
  expect(errorOf(unclear)).toMatchObject({ code: 'ARG_ERROR', candidates: ['alpha-1', 'alpha-2'] })
  expect(errorOf(unclear)?.message).toContain('alpha-1, alpha-2')
  const missing = await world.run('show', 'gamma')
  expect([missing.code, errorOf(missing)?.code]).toEqual([5, 'NOT_FOUND'])
})

const badIds = ['..', 'a/b', 'x'.repeat(300), '🙂', '.hidden', '-', 'a\nb', ' ']
const commands = [
  ['show'],
  ['append', '--create', '--type', 't'],
  ['fork'],
  ['verify'],
  ['repair'],
  ['unlock', '--yes'],
  ['rm', '--yes'],
]
test.each(commands)('%s refuses an invalid id, and changes nothing', async (command = '', ...more) => {
  await using world = new SessionWorld()
  await world.make('good', 1)
  for (const id of badIds) {
    const result = await world.run(command, ...more, '--', id)
    expect([result.code, errorOf(result)?.code], id).toEqual([2, 'SESSION_ID_INVALID'])
  }
  expect(readdirSync(world.sessions).filter((name) => !name.startsWith('.'))).toEqual(['good'])
  const stream = await world.stint(['sessions', 'tail', '../good'])
  expect([stream.code, stream.stdout]).toEqual([2, ''])
  expect(stream.stderr).toContain('(SESSION_ID_INVALID)')
})

test('tail -n all --json prints every event as one JSON object per line without an envelope, filtered by --type and --all', async () => {
  await using world = new SessionWorld()
  await using session = await world.store.create({ id: 'mine' })
  for (let n = 1; n <= 4; n++) await session.append({ type: n % 2 ? 'odd' : 'even', data: n })
  await session.turn()
  await session.close()
  const seqs = async (...args: string[]): Promise<number[]> =>
    jsonLines((await world.stint(['sessions', 'tail', 'mine', '-n', 'all', '--json', ...args])).stdout).map(
      ({ seq }) => seq,
    )
  expect(await seqs()).toEqual([1, 2, 3, 4])
  expect(await seqs('--type', 'even')).toEqual([2, 4])
  expect(await seqs('--all')).toEqual([1, 2, 3, 4, 5])
  expect(await seqs('--type', 'stint.turn')).toEqual([5])
  const [first] = jsonLines((await world.stint(['sessions', 'tail', 'mine', '-n', 'all', '--json'])).stdout)
  expect(first).toEqual({ seq: 1, at: expect.any(Number), type: 'odd', data: 1 })
})

test('tail shows the newest events, follows across segments and writers, and ends silently at SIGINT', async () => {
  await using world = new SessionWorld()
  const holder = await world.hold('mine')
  await holder.write(15)
  const newest = await world.stint(['sessions', 'tail', 'mine', '-n', '3', '--json'])
  expect(jsonLines(newest.stdout).map(({ seq }) => seq)).toEqual([13, 14, 15])
  expect((await world.stint(['sessions', 'tail', 'mine'])).stdout.split('\n')).toHaveLength(11)

  const tail = world.startStint(['sessions', 'tail', 'mine', '-f', '-n', '1', '--json'])
  const seen = (): number[] => jsonLines(tail.output().stdout).map(({ seq }) => seq)
  await until('it shows the last one', () => seen().length === 1)
  await holder.write(2)
  await until('it follows', () => seen().length === 3)
  holder.child.kill('SIGKILL')
  await holder.finished
  const other = await world.hold('mine')
  await other.write(2)
  await until('it follows the next writer', () => seen().length === 5)
  expect(readdirSync(world.path('mine')).filter((name) => name.startsWith('journal')).length).toBeGreaterThan(
    1,
  )
  tail.child.kill('SIGINT')
  const { code, stderr } = await tail.finished
  expect([code, stderr]).toEqual([130, ''])
  expect(seen()).toEqual([15, 16, 17, 18, 19])
})

test('tail -f ends with NOT_FOUND when the session is removed', async () => {
  await using world = new SessionWorld()
  await world.make('mine', 1)
  const tail = world.startStint(['sessions', 'tail', 'mine', '-f'])
  await until('it has begun', () => tail.output().stdout !== '')
  await world.store.remove('mine')
  const { code, stderr } = await tail.finished
  expect([code, stderr.includes('(NOT_FOUND)')]).toEqual([5, true])
})

test('tail ends silently when the reader closes the pipe', async () => {
  await using world = new SessionWorld()
  await using session = await world.store.create({ id: 'mine' })
  const appended = Array.from({ length: 3000 }, () => session.append({ type: 'n', data: 'x'.repeat(200) }))
  await Promise.all(appended)
  await session.close()
  const stint = `${JSON.stringify(process.execPath)} ${JSON.stringify(stintBin)} sessions`
  for (const command of ['tail mine -n all', 'tail mine -n 3000', 'tail mine -n 3000 -f']) {
    const script = `{ ${stint} ${command}; echo "$?" >&2; } | head -c 100 >/dev/null`
    const { stderr } = await world.start('sh', ['-c', script]).finished
    expect(stderr, command).toBe('0\n')
  }
})

test('append --create masks tokens unless --mask says otherwise, and later appends do as the session does', async () => {
  await using world = new SessionWorld()
  const token = `AKIA${'ABCD'.repeat(4)}`
  const append = (...args: string[]) =>
    world.run('append', ...args, '--type', 'note', '--data', JSON.stringify(token))
  for (const [id, ...args] of [['guarded'], ['exact', '--mask', 'registered']] as const) {
    await append(id, '--create', ...args)
    await append(id)
  }
  const eventsOf = async (id: string) =>
    jsonLines((await world.run('tail', id, '-n', 'all')).stdout).map(({ data, masked }) => [data, masked])
  const masked = ['<masked:aws-key-id>', true]
  expect(await eventsOf('guarded')).toEqual([masked, masked])
  expect(await eventsOf('exact')).toEqual([
    [token, undefined],
    [token, undefined],
  ])
  expect(dataOf(await world.run('show', 'exact')).mask).toBe('registered')
  expect(errorOf(await append('exact', '--mask', 'tokens')).message).toBe('--mask goes with --create')
})

test('append takes data from the command line, a pipe or a file, and --create creates the session', async () => {
  await using world = new SessionWorld()
  const missing = await world.run('append', 'mine', '--type', 'note', '--data', '1')
  expect([missing.code, errorOf(missing)?.code]).toEqual([5, 'NOT_FOUND'])
  writeFileSync(join(world.tmp, 'data.json'), '{"from":"file"}')
  const append = (args: string[], input?: string) =>
    world.stint(['sessions', 'append', 'mine', '--create', '--json', ...args], { cwd: world.tmp, input })
  expect(dataOf(await append(['--type', 'a', '--data', '{"from":"here"}']))).toEqual({
    session_id: 'mine',
    type: 'a',
    seq: 1,
  })
  await append(['--type', 'b', '--data', '@-'], '{"from":"pipe"}')
  await append(['--type', 'c', '--data', '@data.json'])
  await append(['--type', 'd'])
  const events = jsonLines((await world.stint(['sessions', 'tail', 'mine', '-n', 'all', '--json'])).stdout)
  expect(events.map(({ type, data }) => [type, data?.from ?? data])).toEqual([
    ['a', 'here'],
    ['b', 'pipe'],
    ['c', 'file'],
    ['d', null],
  ])
  for (const bad of [
    ['--type', 'x', '--data', '{'],
    ['--type', 'stint.turn'],
    ['--data', '1'],
    ['--type', ''],
  ])
    expect((await append(bad)).code, bad.join(' ')).toBe(2)
  expect((await append(['--type', 'x', '--data', '@gone.json'])).code).toBe(5)
  expect(dataOf(await world.run('show', 'mine'))).toMatchObject({ records: 4, workspace: world.tmp })
})

test('append fails while another process holds the session, and changes nothing', async () => {
  await using world = new SessionWorld()
  const holder = await world.hold('mine')
  const refused = await world.run('append', 'mine', '--type', 'note', '--data', '"hello"')
  expect(errorOf(refused)).toMatchObject({
    code: 'SESSION_LOCKED',
    message: expect.stringContaining(`pid ${holder.child.pid}`) as string,
  })
  await holder.close()
  expect(dataOf(await world.run('show', 'mine'))).toMatchObject({ records: 0 })
  expect((await world.run('append', 'mine', '--type', 'note')).code).toBe(0)
})

test('values of secret variables and tokens do not reach the disk through append', async () => {
  await using world = new SessionWorld({ MY_API_TOKEN: 'correct-horse-battery', SHORT_TOKEN: 'abc' })
  const data = JSON.stringify({ text: 'use correct-horse-battery', key: `ghp_${'a1B2'.repeat(9)}` })
  await world.run('append', 'mine', '--create', '--type', 'note', '--data', data)
  const [event] = jsonLines((await world.stint(['sessions', 'tail', 'mine', '-n', 'all', '--json'])).stdout)
  expect(event.data.text).toBe('use <secret:env:MY_API_TOKEN>')
  const found = spawnSync('grep', ['-r', '-e', 'correct-horse', '-e', 'ghp_a1B2', world.home])
  expect(found.status).toBe(1)
})

test('append creates no session whose id contains the value of a secret variable', async () => {
  await using world = new SessionWorld({ MY_API_TOKEN: 'correct-horse-battery' })
  const refused = await world.run('append', 'n-correct-horse-battery', '--create', '--type', 'note')
  expect(errorOf(refused)).toMatchObject({
    code: 'ARG_ERROR',
    message: expect.stringContaining('id') as string,
  })
  expect(JSON.stringify(errorOf(refused))).not.toContain('correct-horse')
  expect(dataOf(await world.run('list'))).toMatchObject({ sessions: [] })
  const written = spawnSync('grep', ['-r', 'correct-horse', world.tmp])
  expect([written.status, written.stdout.toString()]).toEqual([1, ''])
  expect(spawnSync('find', [world.tmp, '-name', '*correct-horse*']).stdout.toString()).toBe('')
})

test.each([
  ['fork', []],
  ['copy', ['--from', 'files', '--to', 'files']],
])('%s makes no session whose id contains the value of a secret variable', async (command, options) => {
  await using world = new SessionWorld({ MY_API_TOKEN: 'correct-horse-battery' })
  await world.make('mine', 1)
  const refused = await world.run(command, 'mine', ...options, '--id', 'n-correct-horse-battery')
  expect(errorOf(refused)).toMatchObject({
    code: 'ARG_ERROR',
    message: 'the id of a session contains a secret',
  })
  expect(dataOf(await world.run('list')).total).toBe(1)
  expect(spawnSync('grep', ['-r', 'correct-horse', world.tmp]).status).toBe(1)
  expect(spawnSync('find', [world.tmp, '-name', '*correct-horse*']).stdout.toString()).toBe('')
})

test('the value of a secret variable in the title of a fork, or of its original, is replaced', async () => {
  await using world = new SessionWorld({ MY_API_TOKEN: 'correct-horse-battery' })
  await world.make('mine', 1)
  await world.run('fork', 'mine', '--id', 'copy', '--title', 'use correct-horse-battery')
  expect(dataOf(await world.run('show', 'copy')).title).toBe('use <secret:env:MY_API_TOKEN>')
  expect(spawnSync('grep', ['-r', 'correct-horse', world.tmp]).status).toBe(1)
  await (await world.store.create({ id: 'other', title: 'use correct-horse-battery' })).close()
  await world.run('fork', 'other', '--id', 'other-copy')
  expect(dataOf(await world.run('show', 'other-copy')).title).toBe('use <secret:env:MY_API_TOKEN>')
})

test('fork copies a session up to a record, even while it is in use', async () => {
  await using world = new SessionWorld()
  const holder = await world.hold('mine')
  await holder.write(5)
  const fork = dataOf(await world.run('fork', 'mine', '--at', '3', '--id', 'copy', '--title', 'a copy'))
  expect(fork).toEqual({ session_id: 'copy', from: 'mine', records: 3 })
  expect(dataOf(await world.run('show', 'copy'))).toMatchObject({
    records: 3,
    title: 'a copy',
    state: 'closed',
  })
  expect(dataOf(await world.run('fork', 'mine'))).toMatchObject({ from: 'mine', records: 5 })
  expect(errorOf(await world.run('fork', 'mine', '--at', '6'))?.code).toBe('ARG_ERROR')
  expect(errorOf(await world.run('fork', 'mine', '--id', 'copy'))?.code).toBe('NAME_TAKEN')
})

test('a session that tar has packed is listed, verified and resumed in the home where it is unpacked', async () => {
  await using world = new SessionWorld()
  await using session = await world.store.create({ id: 'mine', title: 'T' })
  await session.append({ type: 'note', data: { text: 'grüße "x"' } })
  await session.append({ type: 'large', data: 'y'.repeat(300_000) })
  await session.slot('todo', { version: '1', initial: '' }).set('water the plants')
  await session.act({ action: 'shell', key: 'k' }, () => 'done')
  await session.close()
  await world.make('other')
  // Both homes have a list cache.
  const elsewhere = join(world.tmp, 'elsewhere')
  const there = filesystemStore({ home: elsewhere })
  await (await there.create({ id: 'resident' })).close()
  expect([(await world.store.list()).length, (await there.list()).length]).toEqual([2, 1])
  const file = join(world.tmp, 'mine.tar')
  const tar = (...args: string[]) => spawnSync('tar', args, { encoding: 'utf8' })
  expect(tar('-C', world.sessions, '-cf', file, 'mine')).toMatchObject({ status: 0, stderr: '' })
  expect(tar('-C', join(elsewhere, 'sessions'), '-xf', file)).toMatchObject({ status: 0, stderr: '' })

  const inElsewhere = { env: { STINT_HOME: elsewhere } }
  const { sessions } = dataOf(await world.stint(['sessions', 'list', '--json'], inElsewhere))
  const found = sessions.find((each: Answer) => each.session_id === 'mine')
  expect(found).toMatchObject({ state: 'closed', title: 'T', records: 3 })
  const verified = await world.stint(['sessions', 'verify', 'mine', '--json'], inElsewhere)
  expect(dataOf(verified)).toMatchObject({ checked: 1, damaged: 0 })
  const resumed = await there.resume('mine')
  expect(resumed.slot('todo', { version: '1', initial: '' }).value).toBe('water the plants')
  await expect(resumed.act({ action: 'shell', key: 'k' }, () => 'again')).resolves.toBe('done')
  expect((await resumed.append({ type: 'more' })).seq).toBe(4)
  await resumed.close()
  expect((await there.list()).find(({ id }) => id === 'mine')).toMatchObject({ state: 'closed', records: 4 })
})

test('rm moves a session to the trash, which the sweep empties; it asks about a shortened id', async () => {
  await using world = new SessionWorld()
  await world.make('mine')
  const asked = await world.run('rm', 'min')
  expect([asked.code, errorOf(asked)?.code]).toEqual([2, 'ARG_ERROR'])
  expect(dataOf(await world.run('rm', 'mine'))).toEqual({
    session_id: 'mine',
    sessions: ['mine'],
    trash: join(world.home, 'trash'),
  })
  expect(existsSync(join(world.home, 'trash/mine/manifest.json'))).toBe(true)
  expect(dataOf(await world.run('list')).total).toBe(0)
  await world.stint(['sweep', '--scope', 'sessions'])
  expect(readdirSync(join(world.home, 'trash'))).toEqual([])
})

test('list --sort size shows the largest first', async () => {
  await using world = new SessionWorld()
  await world.make('small', 1)
  await using session = await world.store.create({ id: 'big' })
  await session.append({ type: 'blob', data: 'x'.repeat(1_000_000) })
  await session.close()
  await world.make('newest', 1)
  const { sessions, total } = dataOf(await world.run('list', '--sort', 'size'))
  const sizes = sessions.map(({ disk_bytes }: Answer) => disk_bytes)
  expect([total, sizes]).toEqual([3, sizes.toSorted((a: number, b: number) => b - a)])
  const [largest] = dataOf(await world.run('list', '--sort', 'size', '-n', '1')).sessions
  expect(largest).toMatchObject({ session_id: 'big', state: 'closed', disk_bytes: sizes[0] })
})

test('journal, audit log and manifest are plain JSON', async () => {
  await using world = new SessionWorld()
  const holder = await world.hold('mine')
  await holder.write(3)
  await world.stint(['run', '--record', '--session', 'other', '--', 'true'])
  for (const file of [
    world.path('mine', 'journal.log'),
    world.path('other', 'journal.log'),
    world.path('other', 'audit/audit.log'),
  ]) {
    const records = jsonLines(readFileSync(file, 'utf8'))
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i + 1))
  }
  const manifest = JSON.parse(readFileSync(world.path('other', 'manifest.json'), 'utf8'))
  expect(manifest.revisions[0]).toMatchObject({ rev: 1, kind: 'create' })
})

test('a misspelt command is answered with the right one', async () => {
  await using world = new SessionWorld()
  expect(errorOf(await world.run('shwo'))?.suggestion).toContain('show')
})

test('a session of another store is refused with exit 6, and not changed', async () => {
  await using world = new SessionWorld()
  await world.make('foreign', 1)
  const manifest = join(world.tmp, 'home/sessions/foreign/manifest.json')
  const text = readFileSync(manifest, 'utf8').replace('"store": "filesystem"', '"store": "elsewhere"')
  writeFileSync(manifest, text)
  const answer = await world.run('append', 'foreign', '--type', 'note')
  expect([answer.code, errorOf(answer)?.code]).toEqual([6, 'RESUME_MISMATCH'])
  expect(readFileSync(manifest, 'utf8')).toBe(text)
})
