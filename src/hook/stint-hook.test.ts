import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { callEvent, ScriptWorld, shells } from '../../test/support/hook-script.ts'
import { until } from '../../test/support/world.ts'

const silent = { code: 0, stdout: '', stderr: '' }
const fast = { ...silent, usedNode: false }
const byNode = { ...silent, usedNode: true }

test.each(Object.entries(shells))(
  '%s lets the calls of a session pass without Node',
  async (_name, words) => {
    await using world = new ScriptWorld()
    world.shell = words
    expect(world.pre('one')).toEqual(byNode)
    expect(world.post('one')).toEqual(fast)
    expect(world.pre('two')).toEqual(fast)
    expect(world.calls()).toEqual(['two'])
    expect(world.post('two', { after: { tool_response: { stdout: 'a "quoted"\nline' } } })).toEqual(fast)
    expect(world.calls()).toEqual([])
    const file = join(world.workspace, 'a b.txt')
    expect(world.edit('three', file)).toEqual(byNode)
    expect(world.edit('four', file)).toEqual(fast)
    expect(world.edit('five', 'ä.txt')).toEqual(fast)
    expect(world.calls()).toEqual(['three', 'four', 'five'])
    const batch = ['three', 'four', 'five'].map((tool_use_id) => ({
      tool_name: 'Edit',
      tool_input: {},
      tool_use_id,
    }))
    const ended = {
      session_id: 'session-a',
      cwd: world.workspace,
      hook_event_name: 'PostToolBatch',
      tool_calls: batch,
    }
    expect(world.send(JSON.stringify(ended))).toEqual(fast)
    expect(world.calls()).toEqual([])
    expect(world.stop()).toEqual(byNode)
    expect(world.claims).toEqual([])
    // The claim is released: the next call acquires it again.
    expect(world.pre('six')).toEqual(byNode)
  },
)

test('another session is refused while a call runs that began with a mark, and gets the workspace after', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  world.post('one')
  expect(world.pre('two')).toEqual(fast)
  const other = { session: 'session-b' }
  expect(world.pre('b1', other)).toMatchObject({ code: 2, stdout: expect.stringContaining('session-a') })
  world.stop()
  // Its model is told who held the workspace before.
  expect(world.pre('b2', other)).toMatchObject({ code: 0, usedNode: true })
  // The pass of the first session is closed.
  expect(world.pre('three')).toMatchObject({ code: 2, usedNode: true })
  expect(world.calls('session-b')).toEqual(['b2'])
})

test('a call that Node refuses after its mark does not keep the session busy', async () => {
  await using world = new ScriptWorld()
  world.flags = ['--scope', 'paths']
  const [mine, theirs] = ['a.txt', 'b.txt'].map((name) => join(world.workspace, name))
  world.edit('one', mine ?? '')
  world.edit('b1', theirs ?? '', { session: 'session-b' })
  expect(world.edit('two', theirs ?? '')).toMatchObject({ code: 2 })
  expect(world.calls()).toEqual(['one'])
})

test('with --scope paths, a session needs Node only for files that it has not claimed', async () => {
  await using world = new ScriptWorld()
  world.flags = ['--scope', 'paths']
  const files = ['a', 'b', 'c'].map((name) => join(world.workspace, name))
  for (const [index, file] of files.entries())
    expect(world.edit('first', file, { session: `session-${index}` })).toEqual(byNode)
  // Each of these grants has closed the passes before it: Node renews a pass without closing the others.
  for (const index of [0, 1, 2])
    expect(world.edit('second', files[index] ?? '', { session: `session-${index}` }).code).toBe(0)
  for (const index of [0, 1, 2])
    expect(world.edit('third', files[index] ?? '', { session: `session-${index}` })).toEqual(fast)
  expect(world.edit('fourth', files[1] ?? '', { session: 'session-0' })).toMatchObject({ code: 2 })
})

test('a patch of Codex passes if each of its files is in a listed directory', async () => {
  await using world = new ScriptWorld()
  const patch = (...names: string[]) => ({
    tool: 'apply_patch',
    before: { turn_id: 'turn' },
    input: {
      command: `*** Begin Patch\n${names.map((name) => `*** Update File: ${name}\n@@\n-"a"\n+*b*\n`).join('')}*** End Patch\n`,
    },
  })
  mkdirSync(join(world.workspace, 'src'))
  world.pre('one', patch('a.txt'))
  expect(world.pre('two', patch('a.txt', 'b.txt'))).toEqual(fast)
  expect(world.pre('three', patch('a.txt', 'src/b.txt'))).toEqual(byNode)
  expect(world.pre('four', patch('src/b.txt', 'c.txt'))).toEqual(fast)
  for (const name of ['../x.txt', 'a*.txt', '.git/../../x', 'new/a.txt'])
    expect(world.pre(`odd-${name.length}`, patch('a.txt', name)).usedNode, name).toBe(true)
})

test.each<[string, (world: ScriptWorld) => void]>([
  ['the user lets all calls pass', (world) => void (world.env.STINT_BYPASS = '1')],
  ['calls are recorded', (world) => void (world.flags = ['--record'])],
  ['the scope is another one', (world) => void (world.flags = ['--scope', 'paths'])],
  [
    'the pass is of another boot',
    (world) => world.changePass((text) => text.replace(/ [0-9a-f-]{36} /, ' 0-0 ')),
  ],
  [
    'a container has restarted, and the agent has its former pid',
    (world) => {
      world.changePass((text) => text.replace(/^((?:\S+ ){4})\d+/, '$11'))
      utimesSync(world.pass, 1, 1)
    },
  ],
  [
    'the pass is of another process',
    (world) => world.changePass((text) => text.replace(/^((?:\S+ ){3})\d+/, '$11')),
  ],
  [
    'the pass has ended',
    (world) => world.changePass((text) => text.replace(/\d+ workspace\n/, '1 workspace\n')),
  ],
  ['the pass is empty', (world) => world.changePass(() => '')],
  ['the pass is binary', (world) => world.changePass(() => '\0\u0001\n\0')],
  [
    'a number of the pass is none',
    (world) => world.changePass((text) => text.replace(/ \d{10,15} /, ' $(id) ')),
  ],
  ['the pass is a link', (world) => world.link('/etc/passwd', world.pass)],
  ['the marks are a link', (world) => world.link(join(world.tmp, 'elsewhere'), world.marks)],
  ['the marks are removed', (world) => rmSync(world.marks)],
  ['the locks are removed', (world) => rmSync(join(world.home, 'locks'), { recursive: true })],
  [
    'an epoch of more digits than another is newer',
    (world) => symlinkSync('x', join(world.locks, '9'.repeat(14))),
  ],
  [
    'the epoch of the pass is gone',
    (world) => world.names(world.locks).forEach((name) => rmSync(join(world.locks, name))),
  ],
  ['a new repository is in the way', (world) => rmSync(join(world.workspace, '.git'), { recursive: true })],
])('Node is asked if %s', async (_what, change) => {
  await using world = new ScriptWorld()
  world.pre('one')
  expect(world.pre('two')).toEqual(fast)
  change(world)
  world.replaceNode()
  expect(world.pre('three').usedNode).toBe(true)
  expect(existsSync(join(world.tmp, 'elsewhere'))).toBe(false)
})

test('names in the directory of epochs that are no epochs are ignored', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  for (const name of ['a', '-n', '7x', '* *']) writeFileSync(join(world.locks, name), '')
  expect(world.pre('two')).toEqual(fast)
})

test.each<[string, Parameters<ScriptWorld['pre']>[1] & { id?: string }]>([
  ['a session id with a path', { session: '../session-a' }],
  ['a session id with blanks', { session: 'session a' }],
  ['a session id with a pattern', { session: 'session-*' }],
  ['a call id with a line break', { id: 'a\nb' }],
  ['a call id with a command', { id: '$(touch x)' }],
  ['a long call id', { id: 'a'.repeat(200) }],
  ['another directory', { cwd: '/' }],
  ['a directory with a quote', { cwd: '/a"b' }],
  ['an unknown tool', { tool: 'mcp__x__y' }],
  ['an edit without a file', { tool: 'Edit', input: { content: 'x' } }],
  ['an edit of a file that is named twice', { tool: 'Edit', input: { file_path: 'a', notebook_path: 'b' } }],
  ['a file in another directory', { tool: 'Write', input: { file_path: '/etc/x', content: '' } }],
])('Node is asked about %s', async (_what, { id = 'two', ...options }) => {
  await using world = new ScriptWorld()
  world.edit('one', 'a.txt')
  world.replaceNode()
  expect(world.pre(id, options).usedNode).toBe(true)
  expect(readdirSync(world.workspace)).toEqual(['.git'])
})

test('an edit through a link, of a file or of a directory, is a matter for Node', async () => {
  await using world = new ScriptWorld()
  const [directory, file] = [join(world.workspace, 'src'), join(world.workspace, 'src/a.txt')]
  mkdirSync(directory)
  world.edit('one', file)
  expect(world.edit('two', file)).toEqual(fast)
  world.link('/etc/hosts', file)
  expect(world.edit('three', file).usedNode).toBe(true)
  world.link('/etc', directory)
  expect(world.edit('four', join(directory, 'hosts')).usedNode).toBe(true)
})

test('a repository that is made in a directory of the workspace is a workspace of its own', async () => {
  await using world = new ScriptWorld()
  const cwd = join(world.workspace, 'inner')
  mkdirSync(cwd)
  world.pre('one', { cwd })
  expect(world.pre('two', { cwd })).toEqual(fast)
  mkdirSync(join(cwd, '.git'))
  expect(world.pre('three', { cwd }).usedNode).toBe(true)
})

test('an interrupted call, a subagent that is kept apart and other events go to Node', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  const failed = (is_interrupt: boolean) =>
    world.send(callEvent('PostToolUseFailure', 'one', { cwd: world.workspace, after: { is_interrupt } }))
  expect(failed(false)).toEqual(fast)
  expect(world.pre('two', { before: { agent_id: 'helper' } })).toEqual(fast)
  world.flags = ['--subagents', 'apart']
  expect(world.pre('three', { before: { agent_id: 'helper' } }).usedNode).toBe(true)
  world.flags = []
  expect(world.pre('four').code).toBe(0)
  expect(failed(true).usedNode).toBe(true)
  expect(world.claims.map(({ session_id }) => session_id)).toEqual(['session-a.helper'])
})

test('10 MB of input, cut in the middle of a character, reach Node whole', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  // The first block ends inside of an ä, and each ä is two bytes.
  const event = callEvent('PreToolUse', 'two', {
    cwd: world.workspace,
    tool: 'Write',
    input: { file_path: 'ä.txt', content: 'ä'.repeat(5 << 20) },
  })
  const padded = event.replace(
    '"content":"',
    `"content":"${'a'.repeat(Buffer.from(event).subarray(0, 65_536).toString().endsWith('\uFFFD') ? 0 : 1)}`,
  )
  expect(world.send(padded)).toEqual(byNode)
  expect(world.calls()).toContain('two')
  expect(readFileSync(world.pass, 'utf8')).toContain(`edit ${world.workspace}\n`)
})

test('an input that is never closed is answered', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  const [command = '', ...args] = world.words
  for (const text of [
    callEvent('PreToolUse', 'two', { cwd: world.workspace }),
    callEvent('PreToolUse', 'x', { cwd: '/' }),
  ]) {
    const child = spawn(command, args, { env: world.env, stdio: ['pipe', 'ignore', 'ignore'] })
    child.stdin.write(text)
    expect(await once(child, 'exit')).toEqual([0, null])
    child.stdin.destroy()
  }
  expect(world.calls()).toContain('two')
})

test('an event that comes in pieces is read to its end', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  const text = callEvent('PreToolUse', 'two', { cwd: world.workspace })
  const middle = text.indexOf('"},') + 2
  const [command = '', ...args] = world.words
  const child = spawn(command, args, { env: world.env, stdio: ['pipe', 'ignore', 'ignore'] })
  child.stdin.write(text.slice(0, middle))
  await until('the script has started Node', () => existsSync(join(world.tmp, 'started')))
  child.stdin.end(text.slice(middle))
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(world.calls()).toContain('two')
})

test.each<[string, NodeJS.ProcessEnv]>([
  ['a missing home', { STINT_HOME: '/nonexistent/home' }],
  ['no home at all', { STINT_HOME: '', HOME: '' }],
  ['a home that is a file', { STINT_HOME: '/etc/hostname' }],
])('with %s, a call passes as it does without the script', async (_what, env) => {
  await using world = new ScriptWorld()
  world.pre('one')
  expect(world.send(callEvent('PreToolUse', 'two', { cwd: world.workspace }), env)).toEqual(byNode)
})

test('a full disk, or a home that is read-only, leads to Node, which lets the call pass', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  const event = join(world.tmp, 'event.json')
  writeFileSync(event, callEvent('PreToolUse', 'two', { cwd: world.workspace }))
  const run = `exec ${world.words.map((word) => `'${word}'`).join(' ')} <'${event}'`
  const mounts = {
    'a full disk': `mount -t tmpfs -o size=64k none "$STINT_HOME" && cp -a "$0"/. "$STINT_HOME" && cat /dev/zero >"$STINT_HOME/fill" 2>/dev/null`,
    'read-only': 'mount --bind "$STINT_HOME" "$STINT_HOME" && mount -o remount,ro,bind "$STINT_HOME"; :',
  }
  for (const [what, mount] of Object.entries(mounts)) {
    rmSync(join(world.tmp, 'started'), { force: true })
    const copy = join(world.tmp, 'copy')
    rmSync(copy, { recursive: true, force: true })
    cpSync(world.home, copy, { recursive: true, verbatimSymlinks: true })
    const program = ['-c', `${mount}; ${run}`, copy]
    const ended = await world.startUnshared(['--mount'], 'sh', program, { env: world.env }).finished
    expect(ended, what).toMatchObject({ code: 0, stdout: '' })
    expect(existsSync(join(world.tmp, 'started')), what).toBe(true)
  }
})

test('closed output is no reason to fail, nor is a script that is killed at any moment', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  const [command = '', ...args] = world.words
  const closed = world.start('sh', ['-c', `exec "$0" "$@" >&- 2>&-`, command, ...args], {
    input: callEvent('PreToolUse', 'two', { cwd: world.workspace }),
  })
  expect((await closed.finished).code).toBe(0)
  for (let count = 0; count < 20; count++) {
    const running = world.startPre(`killed-${count}`)
    await new Promise((resolve) => setTimeout(resolve, count / 2))
    running.child.kill('SIGKILL')
    await running.finished
  }
  // Every call either has its mark or has none; nothing else was damaged.
  expect(world.calls().every((id) => /^(?:one|two|killed-\d+)$/.test(id))).toBe(true)
  expect(world.pre('last').code).toBe(0)
  expect(world.calls()).toContain('last')
})

test('a pass is not for other users, and is removed with the session', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  expect(readdirSync(world.passes()).sort()).toEqual([
    world.key,
    expect.stringMatching(/^[0-9a-f]{12}\.\d+$/),
  ])
  const end = {
    session_id: 'session-a',
    cwd: world.workspace,
    hook_event_name: 'SessionEnd',
    reason: 'other',
  }
  expect(world.send(JSON.stringify(end))).toEqual(byNode)
  expect(existsSync(world.passes())).toBe(false)
})

test('a file whose name has escapes or blanks around it is left to Node, which refuses that of another session', async () => {
  await using world = new ScriptWorld()
  const other = join(world.tmp, 'other')
  mkdirSync(join(other, '.git'), { recursive: true })
  await world.lock(['acquire', '--session', 'other'], other)
  world.pre('one')
  world.edit('two', join(world.workspace, 'a.txt'))
  expect(world.edit('three', join(world.workspace, 'b.txt'))).toEqual(fast)
  for (const name of ['x"y.txt', 'x\ty.txt', 'x.txt', ' x.txt', 'x.txt '])
    expect([name, world.edit('four', join(other, name))]).toEqual([
      name,
      expect.objectContaining({ code: 2, usedNode: true }),
    ])
  for (const name of ['x"y.txt', ' x.txt', 'x.txt '])
    expect(world.edit('five', name).usedNode, name).toBe(true)
})

test('a session that waits for its turn has its call in flight when it gets it', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  world.stop()
  world.pre('b1', { session: 'session-b' })
  world.flags = ['--wait', '60s']
  const waiting = world.startPre('two')
  await until('it waits', async () => (await world.lock(['status'])).stdout.includes('waited_ms'))
  world.stop('session-b')
  expect(await waiting.finished).toMatchObject({ code: 0 })
  expect(world.calls()).toEqual(['two'])
})

test.each(Object.entries(shells))(
  '%s finds the id of a call beside long results, errors and arguments that look like it',
  async (_name, words) => {
    await using world = new ScriptWorld()
    world.shell = words
    const file = join(world.workspace, 'a.ts')
    world.edit('first', file)
    const lines = Array.from({ length: 400 }, (_, index) => `  "name-${index}": {"tool_use_id":"x"} \\`)
    const result = { originalFile: lines.join('\n'), lines, nested: { tool_use_id: 'nested' } }
    expect(world.edit('one', file, { input: { replace_all: false, file_path: file } })).toEqual(fast)
    expect(world.pre('two', { input: { command: '"}', nested: { tool_use_id: 'first' } } })).toEqual(fast)
    expect(world.calls()).toEqual(['first', 'one', 'two'])
    expect(world.post('one', { after: { tool_response: result } })).toEqual(fast)
    const failure = JSON.parse(callEvent('PostToolUseFailure', 'two', { cwd: world.workspace })) as object
    const failed = { ...failure, error: 'expected "a", got "b" \\"'.repeat(20), is_interrupt: false }
    expect(world.send(JSON.stringify(failed))).toEqual(fast)
    expect(world.calls()).toEqual(['first'])
  },
)

test('a directory within another property is not that of the call', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  const elsewhere = { other: { on: true, cwd: '/' } }
  expect(world.pre('two', { before: elsewhere })).toEqual(fast)
  world.replaceNode()
  expect(world.pre('three', { before: { other: { deep: { on: true }, cwd: '/' } } }).usedNode).toBe(true)
})

test.each<[string, object]>([
  ['names its file after a text with quotes', { content: '"', file_path: 'a.txt' }],
  ['names another file in a list', { file_path: 'a.txt', edits: [{ file_path: '/etc/x' }] }],
  ['fills a block', { file_path: 'a.txt', content: 'a'.repeat(70_000) }],
])('an edit that %s is left to Node', async (_what, input) => {
  await using world = new ScriptWorld()
  world.edit('one', 'a.txt')
  world.replaceNode()
  expect(world.pre('two', { tool: 'Write', input }).usedNode).toBe(true)
})

test('a batch with very many parts, or long ones outside of strings, is left to Node', async () => {
  await using world = new ScriptWorld()
  const batch = (tool_input: object) =>
    JSON.stringify({
      session_id: 'session-a',
      cwd: world.workspace,
      hook_event_name: 'PostToolBatch',
      tool_calls: [{ tool_name: 'Bash', tool_input, tool_use_id: 'one' }],
    })
  world.pre('one')
  expect(world.send(batch({ nested: { tool_use_id: '../x' } }))).toEqual(fast)
  for (const input of [{ list: Array.from({ length: 100 }, () => ({})) }, { list: Array(2500).fill('a') }])
    expect(world.send(batch(input))).toEqual(byNode)
})

test('Node gets the environment of the agent, with its locale', async () => {
  await using world = new ScriptWorld()
  writeFileSync(world.node, `#!/bin/sh\necho "\${LC_ALL-unset}" >>"${world.tmp}/locale"\n`)
  for (const LC_ALL of ['de_DE.UTF-8', undefined])
    world.send(callEvent('PreToolUse', 'one', { cwd: '/' }), { LC_ALL })
  expect(readFileSync(join(world.tmp, 'locale'), 'utf8')).toBe('de_DE.UTF-8\nunset\n')
})

test('a long turn with many changes of the claim leaves few files of marks, and loses no call', async () => {
  await using world = new ScriptWorld()
  const question = { session_id: 'session-a', cwd: world.workspace, hook_event_name: 'PermissionRequest' }
  for (let call = 0; call < 15; call++) {
    expect(world.pre(`call-${call}`).code).toBe(0)
    // Node notes that the call waits, which changes the claim.
    world.send(JSON.stringify({ ...question, tool_name: 'Bash', tool_use_id: `call-${call}` }))
    if (call > 0) expect(world.post(`call-${call}`).code).toBe(0)
  }
  expect(world.calls()).toEqual(['call-0'])
  expect(world.names(world.passes()).length).toBeLessThan(13)
})

test('a machine that was suspended for half an hour asks Node no more often; after two hours it does', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  const suspend = (seconds: number): void =>
    world.changePass((text) =>
      text.replace(/(\d+) workspace\n/, (_, until) => `${Number(until) - seconds} workspace\n`),
    )
  suspend(1800)
  expect(world.pre('two')).toEqual(fast)
  suspend(5400)
  expect(world.pre('three')).toEqual(byNode)
  expect(world.calls()).toEqual(['one', 'two', 'three'])
})
