import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commandHosts, hookEvent, HookWorld, lineOf, outcome } from '../../test/support/hook-host.ts'
import { until } from '../../test/support/world.ts'
import type { SettingsAgentName } from './hosts/host.ts'
import { hosts } from './hosts/hosts.ts'

const held = ({ claims: [claim] }: HookWorld) => claim

/** The processes that hold the workspace. */
const holders = (world: HookWorld) => held(world)?.holders.map(({ pid }) => pid)

const hookLog = (world: HookWorld): string => {
  const path = join(world.home, 'hook.log')
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

test.each(commandHosts)(
  '%s: the first session gets the workspace, the second is refused with the name of the holder',
  async (host) => {
    await using world = new HookWorld()
    const first = await world.hook(host, 'pre', { session: 'first' })
    expect(first).toMatchObject({ allowed: true, ended: { code: 0, stdout: '', stderr: '' } })
    expect(held(world)).toMatchObject({ session_id: 'first', paths: ['**'] })
    const second = await world.hook(host, 'pre', { session: 'second' })
    expect(second.allowed).toBe(false)
    expect(second.reason).toMatch(
      /^parallel session lock held by first \(pid \d+\) — wait or close that session first\. /,
    )
    expect(second.reason).toContain(`${hosts[host].title} has worked here for `)
    expect(second.reason).toContain('Nothing was changed. Read on, or run `stint lock wait --timeout 60s`')
    expect(second.reason.trim().length).toBeLessThanOrEqual(400)
    expect(hookLog(world)).toBe('')
  },
)

test.each(commandHosts)(
  '%s: a session holds the workspace from its first call to the end of its turn',
  async (host) => {
    await using world = new HookWorld()
    await world.hook(host, 'start', { session: 'first' })
    expect(held(world)).toBeUndefined()
    await world.hook(host, 'pre', { session: 'first', call: 'one' })
    await world.hook(host, 'pre', { session: 'first', call: 'two' })
    expect(holders(world)).toEqual([process.pid])
    await world.hook(host, 'post', { session: 'first', call: 'one' })
    await world.hook(host, 'failure', { session: 'first', call: 'two' })
    // Codex sends no event for a failed call; the user's interrupt ends the turn instead.
    if (host === 'codex') expect(held(world)).toBeUndefined()
    else expect(held(world)).toMatchObject({ session_id: 'first' })
    await world.hook(host, 'pre', { session: 'first', call: 'three' })
    await world.hook(host, 'prompt', { session: 'first' })
    expect(holders(world)).toEqual([process.pid])
    await world.hook(host, 'stop', { session: 'first' })
    expect(held(world)).toBeUndefined()
    expect(await world.hook(host, 'pre', { session: 'second' })).toMatchObject({ allowed: true })
    await world.hook(host, 'end', { session: 'second' })
    expect(held(world)).toBeUndefined()
    expect(hookLog(world)).toBe('')
  },
)

test.each(commandHosts)(
  '%s: a command that only reads passes while another session holds the workspace',
  async (host) => {
    await using world = new HookWorld()
    await world.hook(host, 'pre', { session: 'first' })
    const event = JSON.stringify(hookEvent(host, 'pre', { session: 'second', cwd: world.workspace }))
    expect(await world.hook(host, 'pre', { input: event })).toMatchObject({ allowed: false })
    const input = event.replace('npm test', 'git status')
    expect(await world.hook(host, 'pre', { input })).toMatchObject({ allowed: true })
  },
)

test.each(commandHosts)('%s: events of another session do not change the claim', async (host) => {
  await using world = new HookWorld()
  await world.hook(host, 'pre', { session: 'first' })
  for (const moment of ['post', 'failure', 'prompt', 'stop', 'start', 'end'] as const) {
    // Codex and Qwen Code have many sessions in one process, so each is told which one it is.
    const isTold = ['codex', 'qwen'].includes(host) && moment === 'start'
    expect(await world.hook(host, moment, { session: 'second' })).toMatchObject({
      allowed: true,
      ended: { code: 0, stdout: isTold ? expect.stringContaining('session as second:') : '' },
    })
  }
  expect(held(world)).toMatchObject({ session_id: 'first' })
})

test.each(commandHosts)('%s: with --hold session, the claim outlives the turn', async (host) => {
  await using world = new HookWorld()
  const choices = { hold: 'session' } as const
  await world.hook(host, 'pre', { session: 'first', choices })
  await world.hook(host, 'stop', { session: 'first', choices })
  expect(held(world)).toMatchObject({ session_id: 'first' })
  expect(await world.hook(host, 'pre', { session: 'second', choices })).toMatchObject({ allowed: false })
  await world.hook(host, 'end', { session: 'first', choices })
  expect(held(world)).toBeUndefined()
})

test.each(commandHosts)('%s: with --scope paths, only a call on the same file is refused', async (host) => {
  await using world = new HookWorld()
  const choices = { scope: 'paths' } as const
  mkdirSync(join(world.workspace, 'src'))
  const edit = (session: string, file: string) => world.hook(host, 'edit', { session, file, choices })
  expect(await edit('first', 'src/a.ts')).toMatchObject({ allowed: true })
  expect(await edit('second', 'src/b.ts')).toMatchObject({ allowed: true })
  const same = await edit('second', 'src/a.ts')
  expect(same.allowed).toBe(false)
  expect(same.reason).toContain('has worked on src/a.ts for')
  expect(await world.hook(host, 'pre', { session: 'second', choices })).toMatchObject({ allowed: true })
  expect(await world.hook(host, 'pre', { session: 'third', choices })).toMatchObject({ allowed: true })
  await world.hook(host, 'stop', { session: 'first', choices })
  expect(await edit('second', 'src/a.ts')).toMatchObject({ allowed: true })
  await world.hook(host, 'stop', { session: 'second', choices })
  await world.hook(host, 'pre', { session: 'whole' })
  expect(await world.hook(host, 'pre', { session: 'third', choices })).toMatchObject({ allowed: false })
})

test('Claude Code: a notification that it is idle, or that a call was interrupted, ends the turn', async () => {
  await using world = new HookWorld()
  const begin = (call: string) => world.hook('claude', 'pre', { session: 'first', call })
  await begin('one')
  await world.hook('claude', 'denied', { session: 'first', call: 'one' })
  await world.hook('claude', 'notification', { session: 'first' })
  expect(held(world)).toMatchObject({ session_id: 'first' })
  await world.hook('claude', 'interrupt', { session: 'first', call: 'one' })
  expect(held(world)).toBeUndefined()
  await begin('two')
  await world.hook('claude', 'idle', { session: 'first' })
  expect(held(world)).toBeUndefined()
  expect(hookLog(world)).toBe('')
})

const nonsense = {
  garbage: 'not JSON at all {{{',
  empty: '',
  'a list': '[1, 2]',
  null: 'null',
  'half an object': '{"session_id": "x", "tool_name"',
  'an object without anything': '{}',
  'fields of other types':
    '{"session_id": 7, "cwd": [], "tool_name": {}, "tool_input": 3, "hook_event_name": {"toString": 0, "valueOf": 0}}',
}

test.each(commandHosts)('%s: invalid input on stdin blocks nothing', async (host) => {
  await using world = new HookWorld()
  await world.hook(host, 'pre', { session: 'first' })
  for (const [what, input] of Object.entries(nonsense)) {
    rmSync(join(world.home, 'hook.log'), { force: true })
    const { allowed, ended } = await world.hook(host, 'pre', { input })
    expect({ what, allowed, ...ended }).toMatchObject({
      what,
      allowed: true,
      code: 0,
      stdout: '',
      stderr: '',
    })
    // An object may be an event of a later version, which stint ignores.
    if (!input.endsWith('}'))
      expect(JSON.parse(hookLog(world)), what).toMatchObject({
        agent: host,
        warning: expect.stringContaining('not a JSON object'),
      })
  }
  expect(held(world)).toMatchObject({ session_id: 'first' })
})

test.each(commandHosts)('%s: with --fail-closed, an invalid event is refused', async (host) => {
  await using world = new HookWorld()
  const { allowed, reason } = await world.hook(host, 'pre', { input: '', choices: { failClosed: true } })
  expect(allowed).toBe(false)
  expect(reason).toContain('--fail-closed')
})

test.each(commandHosts)('%s: an event of 5 MB is read to its end', async (host) => {
  await using world = new HookWorld()
  await world.hook(host, 'pre', { session: 'first' })
  const big = JSON.parse(editEvent(world, host)) as Record<string, unknown>
  const content = '}\n'.repeat(2.5 * 1024 * 1024)
  const key = 'toolArgs' in big ? 'toolArgs' : 'tool_input'
  const args =
    key === 'toolArgs' ? JSON.stringify({ path: 'a', file_text: content }) : { file_path: 'a', content }
  const input = JSON.stringify({ ...big, [key]: args })
  expect(input.length).toBeGreaterThan(5_000_000)
  expect(await world.hook(host, 'edit', { input })).toMatchObject({ allowed: false })
})

const editEvent = (world: HookWorld, host: SettingsAgentName): string =>
  JSON.stringify(hookEvent(host, 'edit', { session: 'second', cwd: world.workspace }))

test.each(commandHosts)('%s: a refusal is not lost if stdout is not read', async (host) => {
  await using world = new HookWorld()
  await world.hook(host, 'pre', { session: 'first' })
  const closed = world.startHook(host, 'pre', { session: 'second', line: `exec >&-; ${lineOf(host, 'pre')}` })
  expect(outcome(host, await closed.finished)).toMatchObject({ allowed: false })
  const unread = await world.startUnread(host, 'pre', { session: 'second' })
  expect(outcome(host, unread)).toMatchObject({ allowed: false })
})

test.each(commandHosts)(
  '%s: a hook that its host kills for a timeout leaves nothing behind, and blocks nothing',
  async (host) => {
    await using world = new HookWorld()
    // The host has written half of the event.
    const slow = world.startUnfinished(
      `exec ${lineOf(host, 'pre').replace(/ \|\| .*/, '')}`,
      '{"session_id":',
    )
    await until('it reads', () => readFileSync(`/proc/${slow.pid}/wchan`, 'utf8').includes('pipe'))
    slow.child.kill('SIGTERM')
    const ended = await slow.finished
    expect(ended.signal).toBe('SIGTERM')
    expect(outcome(host, { ...ended, code: null })).toMatchObject({ allowed: true })
    expect(await world.hook(host, 'pre', { session: 'second' })).toMatchObject({ allowed: true })
  },
)

test.each(commandHosts)(
  '%s: responds as soon as the event is complete, even if stdin stays open',
  async (host) => {
    await using world = new HookWorld()
    await world.hook(host, 'pre', { session: 'first' })
    const open = world.startUnfinished(lineOf(host, 'pre'), editEvent(world, host))
    expect(outcome(host, await open.finished)).toMatchObject({ allowed: false })
  },
)

test('a large event is parsed a few times at most, even if its chunks end like an object', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first' })
  const count = join(world.tmp, 'count')
  const counter = join(world.tmp, 'counter.cjs')
  writeFileSync(
    counter,
    `const parse = JSON.parse
    JSON.parse = (text, ...more) => {
      if (text.length > 60_000) require('node:fs').appendFileSync(${JSON.stringify(count)}, 'x')
      return parse(text, ...more)
    }`,
  )
  world.env.NODE_OPTIONS = `--require ${counter}`
  const json = hookEvent('claude', 'pre', { session: 'second', cwd: world.workspace }) as Record<
    string,
    unknown
  >
  const input = JSON.stringify({ ...json, tool_input: { command: '}'.repeat(1 << 20) } })
  expect(await world.hook('claude', 'pre', { input })).toMatchObject({ allowed: false })
  expect(readFileSync(count, 'utf8').length).toBeLessThan(10)
})

test.each(commandHosts)('%s: an installation that is missing or broken blocks no tool', async (host) => {
  await using world = new HookWorld()
  await world.hook(host, 'pre', { session: 'first' })
  const broken = join(world.tmp, 'stint-hook.cjs')
  writeFileSync(broken, 'this is no JavaScript')
  const ways = {
    'no such script': [process.execPath, join(world.tmp, 'missing.cjs')],
    'no such command': [join(world.tmp, 'no-node'), broken],
    'a broken script': [process.execPath, broken],
    'nothing on PATH': ['stint-hook-that-is-nowhere'],
  }
  for (const [what, how] of Object.entries(ways)) {
    const line = lineOf(host, 'pre', {}, how)
    const ended = await world.startHook(host, 'pre', { session: 'second', line }).finished
    expect(outcome(host, ended), what).toMatchObject({ allowed: true })
  }
})

test.each(commandHosts)('%s: an unusable home blocks no tool, unless the hook fails closed', async (host) => {
  await using world = new HookWorld()
  writeFileSync(world.home, 'a file where a directory should be')
  expect(await world.hook(host, 'pre')).toMatchObject({ allowed: true, ended: { code: 0, stdout: '' } })
  expect(await world.hook(host, 'pre', { choices: { failClosed: true } })).toMatchObject({ allowed: false })
  const after = await world.hook(host, 'stop', { choices: { failClosed: true } })
  expect(after.ended).toMatchObject({ code: 0, stdout: '' })
  rmSync(world.home)
  mkdirSync(world.home, { mode: 0o700 })
  expect(await world.hook(host, 'pre')).toMatchObject({ allowed: true })
})

test('Cursor gets an explicit "allow" with --fail-closed, and only then', async () => {
  await using world = new HookWorld()
  const { ended } = await world.hook('cursor', 'pre', { choices: { failClosed: true } })
  expect(JSON.parse(ended.stdout)).toEqual({ permission: 'allow' })
})

/** A world whose home has a secret in its name, and a fault: a file in the place of the locks. */
function faultyWorld(secrets: Record<string, string>, name: string): HookWorld & { log: string } {
  const world = new HookWorld()
  Object.assign(world.env, secrets)
  const home = join(world.tmp, name)
  world.env.STINT_HOME = home
  mkdirSync(home, { mode: 0o700 })
  writeFileSync(join(home, 'format-1'), '')
  writeFileSync(join(home, 'locks'), '')
  return Object.assign(world, { log: join(home, 'hook.log') })
}

test('each fault is logged once, without secrets, and the log is bounded', async () => {
  await using world = faultyWorld({ MY_API_TOKEN: 'hush-hush-token' }, 'hush-hush-token')
  expect(await world.hook('claude', 'pre')).toMatchObject({ allowed: true })
  expect(JSON.parse(readFileSync(world.log, 'utf8'))).toEqual({
    at: expect.any(String),
    agent: 'claude',
    event: 'PreToolUse',
    session: 'session-a',
    warning: expect.stringContaining('/<secret:env:MY_API_TOKEN>/locks is not a directory') as string,
  })
  writeFileSync(world.log, 'x'.repeat(300_000))
  chmodSync(world.log, 0o600)
  await world.hook('claude', 'pre')
  expect(readFileSync(world.log, 'utf8').split('\n')).toHaveLength(2)
  expect(readFileSync(`${world.log}.1`, 'utf8')).toHaveLength(300_000)
})

test('no line of the log is long, and none contains a part of a secret, whatever the event contains', async () => {
  const secrets = {
    MY_TOKEN: 'say "hush"\nplease',
    A_KEY: 'hush-hush',
    LONGER_KEY: 'hush-hush-and-more',
  }
  await using world = faultyWorld(secrets, secrets.MY_TOKEN)
  const session = `${'s'.repeat(1995)}hush-hush-and-more${'s'.repeat(1_000_000)}`
  const event = { ...hookEvent('claude', 'pre', { cwd: world.workspace }), session_id: session }
  await world.hook('claude', 'pre', { input: JSON.stringify(event) })
  const log = readFileSync(world.log, 'utf8')
  expect(log.length).toBeLessThan(5000)
  expect(log).toContain('<secret:env:MY_TOKEN>')
  expect(log).not.toMatch(/hush|more/)
})

test('a tool that only reads needs no claim, and STINT_BYPASS=1 skips the check', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first' })
  const event = JSON.parse(
    `{"session_id":"second","transcript_path":"/x","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"a"},"tool_use_id":"c"}`,
  ) as object
  const input = JSON.stringify({ ...event, cwd: world.workspace })
  expect(await world.hook('claude', 'pre', { input })).toMatchObject({ allowed: true })
  world.env.STINT_BYPASS = '1'
  expect(await world.hook('claude', 'pre', { session: 'second' })).toMatchObject({ allowed: true })
})

test('stint-hook prints its usage for invalid arguments', async () => {
  await using world = new HookWorld()
  for (const line of ['', 'emacs', 'claude --scope everything', 'claude --what', 'claude --hold']) {
    const { code, stderr } = await world.start('sh', [
      '-c',
      `${lineOf('claude', 'pre').replace(/claude .*$/, '')} ${line}`,
    ]).finished
    expect(code).toBe(1)
    expect(stderr).toMatch(/^usage: stint-hook </)
  }
})
