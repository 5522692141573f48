import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commandHosts, hookEvent, HookWorld } from '../../test/support/hook-host.ts'
import { ensureHome } from '../base/fs/home.ts'
import { filesystemStore } from '../session/files/medium.ts'
import { readEvent } from './event.ts'
import { recordCall } from './record-call.ts'
import type { SettingsAgentName } from './hosts/host.ts'

const choices = { record: true } as const

async function recorded(world: HookWorld, session: string) {
  const found = await filesystemStore({ home: world.home }).inspect(session)
  const [events, audit] = [[], []] as [Record<string, unknown>[], Record<string, unknown>[]]
  for await (const { type, data, masked } of found.events())
    events.push({ type, ...(data as object), ...(masked && { masked }) })
  for await (const entry of found.audit()) audit.push(entry as unknown as Record<string, unknown>)
  return { events, audit, health: await found.health(), unsettled: await found.unsettled() }
}

/** The names and contents of everything in a directory, as one string. */
const everything = (directory: string): string =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
    .join('\n')

const oneCall = async (world: HookWorld, host: SettingsAgentName) => {
  await world.hook(host, 'pre', { session: 'first', choices })
  await world.hook(host, 'pre', { session: 'second', choices })
  await world.hook(host, 'post', { session: 'first', choices })
  await world.hook(host, 'stop', { session: 'first', choices })
}

test.each(commandHosts)(
  '%s: intent, outcome and refusal of a call are written to journal and audit log',
  async (host) => {
    await using world = new HookWorld()
    await oneCall(world, host)
    const first = await recorded(world, 'first')
    expect(first.events).toMatchObject([
      { type: 'tool.call', agent: host, input: { command: 'npm test' }, cwd: world.workspace },
      { type: 'tool.result', agent: host, ok: true },
    ])
    expect(first.audit).toMatchObject([
      { type: 'intent', action: 'tool.shell', subject: expect.stringContaining('npm test') },
      { type: 'outcome', action: 'tool.shell', ok: true },
    ])
    expect(first.audit[0]?.act).toBe(first.audit[1]?.act)
    expect(first.health.ok).toBe(true)
    expect(first.unsettled).toEqual([])
    const second = await recorded(world, 'second')
    expect(second.events).toMatchObject([
      { type: 'tool.denied', reason: expect.stringMatching(/^parallel session/) },
    ])
    expect(second.audit).toMatchObject([{ type: 'note', action: 'tool.denied' }])
  },
)

test('the title of a recorded session is the beginning of its first prompt, unless prompts are kept out', async () => {
  await using world = new HookWorld()
  const turn = async (session: string, prompts?: boolean) => {
    await world.hook('claude', 'prompt', { session, choices: { ...choices, prompts } })
    await world.hook('claude', 'pre', { session, choices })
    await world.hook('claude', 'stop', { session, choices })
    return (await filesystemStore({ home: world.home }).inspect(session)).summary.title
  }
  expect(await turn('told')).toBe('go on')
  expect(await turn('private', false)).toBeUndefined()
})

test('an intent is on disk before the call is allowed, and stays unsettled if the agent dies', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first', choices })
  const { unsettled } = await recorded(world, 'first')
  expect(unsettled).toMatchObject([{ action: 'tool.shell', subject: 'Bash: npm test' }])
})

test.each<[SettingsAgentName, unknown]>([
  ['claude', 'Command failed with exit code 1'],
  ['cursor', 'timed out'],
  ['copilot', 'exit code 1'],
  ['gemini', { message: 'exit code 1' }],
])('%s: a failed call is recorded as failed, with the reason that the host gave', async (host, error) => {
  await using world = new HookWorld()
  await world.hook(host, 'pre', { session: 'first', choices })
  await world.hook(host, 'failure', { session: 'first', choices })
  const { events, audit } = await recorded(world, 'first')
  expect(events.find(({ type }) => type === 'tool.result')).toMatchObject({ ok: false, error })
  expect(audit[1]).toMatchObject({ type: 'outcome', ok: false })
})

test('no secret variable gets to the disk in any encoding, and long strings are cut', async () => {
  await using world = new HookWorld()
  const secret = 'correct-horse-battery'
  Object.assign(world.env, {
    MY_TOKEN: secret,
    DB_PASSWORD: 'hunter2hunter2',
    MY_SECRET: 'x',
    LONG_KEY: 'aaaaaaaa',
  })
  const base64 = Buffer.from(`user:${secret}`).toString('base64')
  const input = JSON.stringify({
    session_id: 'first',
    transcript_path: '/x',
    cwd: world.workspace,
    hook_event_name: 'PreToolUse',
    tool_name: 'Write',
    tool_input: {
      file_path: 'a.txt',
      content: `${'x'.repeat(3990)}${secret} and hunter2hunter2 ${'y'.repeat(100_000)}`,
      [secret]: [base64, { deep: `"${secret}"` }],
    },
    tool_use_id: 'c',
  })
  await world.hook('claude', 'pre', { input, choices })
  const text = everything(world.home)
  expect(text.length).toBeLessThan(20_000)
  expect(text).toContain('<secret:env:MY_TOKEN>')
  for (const form of [secret, base64, 'correct-horse', 'hunter2']) expect(text).not.toContain(form)
  const { events, audit } = await recorded(world, 'first')
  expect([events, audit]).toMatchObject([[{ masked: true }], [expect.not.objectContaining({ masked: true })]])
})

test('a failure to record blocks nothing, unless the hook fails closed', async () => {
  await using world = new HookWorld()
  ensureHome(world.home)
  symlinkSync('/nowhere', join(world.home, 'sessions'))
  expect(await world.hook('claude', 'pre', { choices })).toMatchObject({ allowed: true })
  expect(readFileSync(join(world.home, 'hook.log'), 'utf8')).toContain('sessions is a symbolic link')
  const closed = await world.hook('claude', 'pre', { choices: { record: true, failClosed: true } })
  expect(closed).toMatchObject({
    allowed: false,
    reason: expect.stringMatching(/^stint could not record this call \(.*, and --fail-closed refuses/),
  })
})

test('calls at the same time are each recorded once, while no other process writes to the session', async () => {
  await using world = new HookWorld()
  const calls = ['a', 'b', 'c', 'd']
  const record = (moment: 'pre' | 'post') =>
    Promise.all(calls.map((call) => world.hook('claude', moment, { session: 'first', call, choices })))
  await record('pre')
  await record('post')
  const { events, audit, unsettled } = await recorded(world, 'first')
  const callsOf = (wanted: string) => events.filter(({ type }) => type === wanted).map(({ call }) => call)
  expect(callsOf('tool.call').toSorted()).toEqual(calls)
  expect(callsOf('tool.result').toSorted()).toEqual(calls)
  expect([audit.length, unsettled]).toEqual([8, []])
  await using writer = await filesystemStore({ home: world.home }).resume('first')
  expect(await world.hook('claude', 'pre', { session: 'first', choices })).toMatchObject({ allowed: true })
  expect(readFileSync(join(world.home, 'hook.log'), 'utf8')).toContain(writer.id)
})

const writeCall = (world: HookWorld, tool_input: object): string =>
  JSON.stringify({
    session_id: 'first',
    transcript_path: '/x',
    cwd: world.workspace,
    hook_event_name: 'PreToolUse',
    tool_name: 'MultiEdit',
    tool_input,
    tool_use_id: 'c',
  })

test('a call with megabytes of small strings is recorded with at least its name and its beginning', async () => {
  await using world = new HookWorld()
  const edits = Array.from({ length: 600 }, () => ({
    old_string: 'o'.repeat(3000),
    new_string: '\u0001'.repeat(3000),
  }))
  await world.hook('claude', 'pre', { input: writeCall(world, { file_path: 'a', edits }), choices })
  const { events, audit } = await recorded(world, 'first')
  expect(events).toMatchObject([{ type: 'tool.call', input: { file_path: 'a', edits: expect.any(Array) } }])
  expect(JSON.stringify(events).length).toBeLessThan(1 << 20)
  expect(audit).toMatchObject([{ type: 'intent', act: 'c', subject: 'MultiEdit: a' }])
})

const token = `${'Zq9'.repeat(33)}!`

test.each<[where: string, secret: string, (secret: string) => object]>([
  ['where a string is cut after many of them', token, (secret) => ({ content: `${secret} `.repeat(1000) })],
  ['in a name', token, (secret) => ({ [`k${secret.repeat(40)}`]: 1 })],
  [
    'in a string that is not searched to its end',
    token.repeat(200),
    (secret) => ({ content: `${secret}${'x'.repeat(200_000)}` }),
  ],
  ['in the name of the directory', token, () => ({})],
])('no part of a secret gets to the disk: %s', async (where, secret, input) => {
  await using world = new HookWorld()
  world.env.BIG_TOKEN = secret
  const cwd = join(world.workspace, where.endsWith('directory') ? secret : '.')
  const json = { ...(JSON.parse(writeCall(world, { file_path: 'a', ...input(secret) })) as object), cwd }
  const event = readEvent(json as Record<string, unknown>, { configured: 'claude', env: {} })
  await recordCall({ event, verdict: { block: false }, agent: null, env: world.env })
  const text = everything(world.home)
  expect(text).not.toContain('Zq9Zq9')
  expect(text).toContain('MultiEdit')
})

test('the generated id of a call reveals nothing of a secret in its input', async () => {
  await using world = new HookWorld()
  for (const secret of ['correct-horse-battery', 'incorrect-horse']) {
    world.env.MY_TOKEN = secret
    const json = { ...hookEvent('copilot', 'pre', { session: 'first', cwd: world.workspace }) }
    json.toolArgs = JSON.stringify({ command: `login ${secret}` })
    const event = readEvent(json, { configured: 'copilot', name: 'preToolUse', env: {} })
    await recordCall({ event, verdict: { block: false }, agent: null, env: world.env })
  }
  const { audit } = await recorded(world, 'first')
  expect(audit).toHaveLength(2)
  expect(audit[0]?.act).toBe(audit[1]?.act)
})

test('a refusal stands even if it cannot be recorded', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first' })
  symlinkSync('/nowhere', join(world.home, 'sessions'))
  const refused = await world.hook('claude', 'pre', { session: 'second', choices })
  expect(refused).toMatchObject({ allowed: false, reason: expect.stringContaining('held by first') })
})
