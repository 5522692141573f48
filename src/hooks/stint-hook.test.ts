import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { callEvent, type CallOptions, ScriptWorld, shells } from '../../test/support/hook-script.ts'
import { makeRepository } from '../../test/support/lock-world.ts'
import { until } from '../../test/support/world.ts'

const silent = { code: 0, stdout: '', stderr: '' }
const fast = { ...silent, usedNode: false }
const byNode = { ...silent, usedNode: true }

test.each(Object.entries(shells))(
  '%s lets the calls of a session begin and end without Node',
  async (_name, words) => {
    await using world = new ScriptWorld()
    world.shell = words
    expect(world.pre('one')).toEqual(byNode)
    expect(world.post('one')).toEqual(fast)
    expect(world.pre('two')).toEqual(fast)
    expect(world.post('two', { after: { tool_response: { stdout: 'a "quoted"\nline' } } })).toEqual(fast)
    const file = join(world.workspace, 'a b.txt')
    expect(world.edit('three', file)).toEqual(fast)
    expect(world.edit('four', 'new.txt')).toEqual(fast)
    mkdirSync(join(world.workspace, 'src'))
    expect(world.edit('five', 'src/new.txt', { before: { agent_id: 'helper' } })).toEqual(fast)
    expect(world.pre('six', { cwd: join(world.workspace, 'src') })).toEqual(fast)
    expect(world.stop()).toEqual(byNode)
    expect(world.claims).toEqual([])
    // The claim is released: the next call acquires it again.
    expect(world.pre('seven')).toEqual(byNode)
  },
)

test('the script writes nothing: what the home contains stays as it is', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  const facts = (): unknown =>
    readdirSync(world.home, { recursive: true }).map((name) => {
      const { size, mtimeMs, ino } = statSync(join(world.home, String(name)))
      return { name, size, mtimeMs, ino }
    })
  const before = facts()
  expect([world.pre('two'), world.post('two'), world.edit('three', 'a.txt')]).toEqual([fast, fast, fast])
  expect(facts()).toEqual(before)
})

test('another session is refused, gets the workspace after the turn, and the first needs Node again', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  expect(world.pre('two')).toEqual(fast)
  const other = { session: 'session-b' }
  expect(world.pre('b1', other)).toMatchObject({ code: 2, stdout: expect.stringContaining('session-a') })
  // A refusal changes no record, so the pass of the holder is still good.
  expect(world.pre('three')).toEqual(fast)
  world.stop()
  // Its model is told who held the workspace before.
  expect(world.pre('b2', other)).toMatchObject({ code: 0, usedNode: true })
  expect(world.pre('four')).toMatchObject({ code: 2, usedNode: true })
})

test('with --scope paths, a session needs Node for commands and for files that it has not claimed', async () => {
  await using world = new ScriptWorld()
  world.flags = ['--scope', 'paths']
  const files = ['a', 'b', 'c'].map((name) => join(world.workspace, name))
  for (const [index, file] of files.entries())
    expect(world.edit('first', file, { session: `session-${index}` })).toEqual(byNode)
  // Each of these grants has ended the passes before it: Node renews a pass without ending the others.
  for (const index of [0, 1, 2])
    expect(world.edit('second', files[index] ?? '', { session: `session-${index}` }).code).toBe(0)
  for (const index of [0, 1, 2])
    expect(world.edit('third', files[index] ?? '', { session: `session-${index}` })).toEqual(fast)
  expect(world.edit('fourth', files[1] ?? '', { session: 'session-0' })).toMatchObject({ code: 2 })
  expect(world.pre('fifth', { session: 'session-0' })).toEqual(byNode)
})

/** Replaces a field of the first line of the pass. */
const setField =
  (index: number, value: string) =>
  (world: ScriptWorld): void =>
    world.changePass((text) => text.split('\t').with(index, value).join('\t'))

test.each<[string, (world: ScriptWorld) => void]>([
  ['the user lets all calls pass', (world) => void (world.env.STINT_BYPASS = '1')],
  ['calls are recorded', (world) => void (world.flags = ['--record'])],
  ['only files are claimed', (world) => void (world.flags = ['--scope', 'paths'])],
  ['the pass is of another boot', setField(0, '0-0')],
  ['the pass is of another key', setField(1, '0123456789ab')],
  ['the pass is of an older epoch', setField(2, '0')],
  ['the pass has ended', setField(3, '1')],
  ['the pass is of another process', setField(4, '1')],
  ['the agent has its former pid, after a container has restarted', setField(5, '1')],
  ['the pass is of another repository', setField(6, '/elsewhere')],
  ['the pass covers other paths', setField(7, '/elsewhere')],
  ['a number of the pass is none', setField(2, '$(id)')],
  ['the pass is empty', (world) => world.changePass(() => '')],
  ['the pass is binary', (world) => world.changePass(() => '\0\u0001\n\0')],
  ['the pass is a link', (world) => world.link('/etc/passwd', world.pass())],
  ['the locks are removed', (world) => rmSync(join(world.home, 'locks'), { recursive: true })],
  [
    'an epoch of more digits than another is newer',
    (world) => writeFileSync(join(world.locks, '9'.repeat(14)), 'x'),
  ],
  [
    'the epoch of the pass is gone',
    (world) => world.names(world.locks).forEach((name) => rmSync(join(world.locks, name))),
  ],
  ['the repository is gone', (world) => rmSync(join(world.workspace, '.git'), { recursive: true })],
])('Node is asked if %s', async (_what, change) => {
  await using world = new ScriptWorld()
  world.pre('one')
  expect(world.pre('two')).toEqual(fast)
  change(world)
  world.replaceNode()
  expect(world.pre('three').usedNode).toBe(true)
})

test('names in the directory of epochs that are no epochs are ignored', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  for (const name of ['a', '-n', '7x', '* *', '.staged']) writeFileSync(join(world.locks, name), '')
  expect(world.pre('two')).toEqual(fast)
})

test.each<[string, CallOptions]>([
  ['a session id with a path', { session: '../session-a' }],
  ['a session id with blanks', { session: 'session a' }],
  ['a session id with a pattern', { session: 'session-*' }],
  ['another directory', { cwd: '/' }],
  ['a directory with a quote', { cwd: '/a"b' }],
  ['an unknown tool', { tool: 'mcp__x__y' }],
  ['an edit without a file', { tool: 'Edit', input: { content: 'x' } }],
  ['a notebook', { tool: 'NotebookEdit', input: { notebook_path: 'b', new_source: '' } }],
  ['a file that is named later', { tool: 'Write', input: { content: '"', file_path: 'a.txt' } }],
  ['another file in a list', { tool: 'Edit', input: { file_path: 'a', edits: [{ file_path: '/etc/x' }] } }],
  ['a file in another directory', { tool: 'Write', input: { file_path: '/etc/x', content: '' } }],
  ['a file with a parent directory', { tool: 'Write', input: { file_path: '../x', content: '' } }],
  ['a file that ends with a blank', { tool: 'Write', input: { file_path: 'x ', content: '' } }],
  ['a file with a tab', { tool: 'Write', input: { file_path: 'x\ty', content: '' } }],
  ['an event that fills a block', { tool: 'Write', input: { file_path: 'a', content: 'a'.repeat(70_000) } }],
  ['a command that begins in another directory', { input: { command: 'cd /etc && make' } }],
  ['a command that begins with a blank', { input: { command: ' cd /etc && make' } }],
  ['a command of git for another directory', { input: { command: 'git -C /etc commit' } }],
  ['… with tabs', { input: { command: 'git\t-C\t/etc commit' } }],
  ['a patch in a command', { input: { command: "apply_patch <<'E'\n*** Begin Patch\n*** Add File: /x" } }],
  ['a command that comes after its description', { input: { description: 'x', command: 'cd /etc; make' } }],
  ['a directory that comes twice', { after: { cwd: '/' } }],
  ['a deep object before the tool', { before: { other: { deep: { on: true }, cwd: '/' } } }],
])('Node is asked about %s', async (_what, options) => {
  await using world = new ScriptWorld()
  world.edit('one', 'a.txt')
  world.replaceNode()
  expect(world.pre('two', options).usedNode).toBe(true)
  expect(readdirSync(world.workspace)).toEqual(['.git'])
})

test('a directory within another property is not that of the call', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  expect(world.pre('two', { before: { other: { on: true, level: 'cwd' } } })).toEqual(fast)
  expect(world.pre('three', { input: { command: 'echo "tool_input" \\"cwd\\": {"a"}' } })).toEqual(fast)
})

test('an edit through a link, of a file or of a directory, is a matter for Node', async () => {
  await using world = new ScriptWorld()
  const [directory, file] = [join(world.workspace, 'src'), join(world.workspace, 'src/a.txt')]
  mkdirSync(directory)
  world.edit('one', file)
  expect(world.edit('two', file)).toEqual(fast)
  world.link('/etc/hosts', file)
  world.replaceNode()
  expect(world.edit('three', file).usedNode).toBe(true)
  world.link('/etc', directory)
  expect(world.edit('four', join(directory, 'hosts')).usedNode).toBe(true)
  expect(world.pre('five', { cwd: directory }).usedNode).toBe(true)
})

test('a repository that is made in a directory of the workspace is a workspace of its own', async () => {
  await using world = new ScriptWorld()
  const cwd = join(world.workspace, 'inner')
  mkdirSync(cwd)
  world.pre('one', { cwd })
  expect(world.pre('two', { cwd })).toEqual(fast)
  expect(world.edit('three', join(cwd, 'x'))).toEqual(fast)
  makeRepository(cwd)
  world.replaceNode()
  expect(world.pre('four', { cwd }).usedNode).toBe(true)
  expect(world.edit('five', join(cwd, 'x')).usedNode).toBe(true)
})

test('a session has passes for several workspaces, and for files outside of all', async () => {
  await using world = new ScriptWorld()
  const other = join(world.tmp, 'other')
  makeRepository(other)
  const note = join(world.tmp, 'note.txt')
  expect([world.pre('one'), world.pre('two', { cwd: other }), world.edit('three', note)]).toEqual([
    byNode,
    byNode,
    byNode,
  ])
  expect([world.pre('four'), world.pre('five', { cwd: other }), world.edit('six', note)]).toEqual([
    fast,
    fast,
    fast,
  ])
  expect(world.edit('seven', join(world.tmp, 'note2.txt'))).toEqual(byNode)
})

test('a subagent that is kept apart, failed calls and other events go to Node', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  expect(world.pre('two', { before: { agent_id: 'helper' } })).toEqual(fast)
  world.flags = ['--subagents', 'apart']
  expect(world.pre('three', { before: { agent_id: 'helper' } }).usedNode).toBe(true)
  world.flags = []
  const failed = callEvent('PostToolUseFailure', 'one', { cwd: world.workspace })
  expect(world.send(failed).usedNode).toBe(true)
})

test('10 MB of input, cut in the middle of a character, reach Node whole', async () => {
  await using world = new ScriptWorld()
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
  expect(world.claims).toHaveLength(1)
})

test('an input that is never closed is answered', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  const [command = '', ...args] = world.words
  for (const cwd of [world.workspace, '/']) {
    const child = spawn(command, args, { env: world.env, stdio: ['pipe', 'ignore', 'ignore'] })
    child.stdin.write(callEvent('PreToolUse', 'two', { cwd }))
    expect(await once(child, 'exit')).toEqual([0, null])
    child.stdin.destroy()
  }
})

test('an event that comes in pieces is read to its end', async () => {
  await using world = new ScriptWorld()
  const text = callEvent('PreToolUse', 'two', { cwd: world.workspace })
  const middle = text.indexOf('"},') + 2
  const [command = '', ...args] = world.words
  const child = spawn(command, args, { env: world.env, stdio: ['pipe', 'ignore', 'ignore'] })
  child.stdin.write(text.slice(0, middle))
  await until('the script has started Node', () => existsSync(join(world.tmp, 'started')))
  child.stdin.end(text.slice(middle))
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(world.claims).toHaveLength(1)
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

test('a full disk, or a home that is read-only, is no obstacle for a call that needs no decision', async () => {
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
    cpSync(world.home, copy, { recursive: true })
    const program = ['-c', `${mount}; ${run}`, copy]
    const ended = await world.startUnshared(['--mount'], 'sh', program, { env: world.env }).finished
    expect(ended, what).toMatchObject({ code: 0, stdout: '' })
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
  expect(world.pre('last').code).toBe(0)
})

test('a pass is not for other users, and is removed with the end of the turn', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  expect(statSync(world.pass()).mode & 0o777).toBe(0o600)
  world.stop()
  expect(existsSync(world.pass())).toBe(false)
})

test('a file with an odd name is left to Node, which refuses that of another session', async () => {
  await using world = new ScriptWorld()
  const other = join(world.tmp, 'other')
  makeRepository(other)
  await world.lock(['acquire', '--session', 'other'], other)
  world.pre('one')
  for (const name of ['x"y.txt', 'x\ty.txt', 'x.txt', ' x.txt', 'x.txt '])
    expect([name, world.edit('four', join(other, name))]).toEqual([
      name,
      expect.objectContaining({ code: 2, usedNode: true }),
    ])
})

test('a session that waits gets the workspace when the other turn has ended', async () => {
  await using world = new ScriptWorld()
  world.pre('b1', { session: 'session-b' })
  world.flags = ['--wait', '60s']
  const waiting = world.startPre('two')
  await until('it waits', async () => (await world.lock(['status'])).stdout.includes('waited_ms'))
  world.stop('session-b')
  expect(await waiting.finished).toMatchObject({ code: 0 })
  expect(world.claims).toMatchObject([{ session_id: 'session-a' }])
})

test('Node gets the environment of the agent, with its locale', async () => {
  await using world = new ScriptWorld()
  writeFileSync(world.node, `#!/bin/sh\necho "\${LC_ALL-unset}" >>"${world.tmp}/locale"\n`)
  for (const LC_ALL of ['de_DE.UTF-8', undefined])
    world.send(callEvent('PreToolUse', 'one', { cwd: '/' }), { LC_ALL })
  expect(readFileSync(join(world.tmp, 'locale'), 'utf8')).toBe('de_DE.UTF-8\nunset\n')
})

test('after fifteen minutes Node is asked, and renews the claim and the pass', async () => {
  await using world = new ScriptWorld()
  world.pre('one')
  const until = (): number => Number(readFileSync(world.pass(), 'utf8').split('\t')[3])
  const before = until()
  setField(3, String(before - 900))(world)
  expect(world.pre('two')).toEqual(byNode)
  expect(until()).toBeGreaterThanOrEqual(before)
  expect(world.pre('three')).toEqual(fast)
})
