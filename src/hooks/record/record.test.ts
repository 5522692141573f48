import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ensureHome } from '../../base/fs/home.ts'
import { commandHosts, hookBin, hookEvent, HookWorld } from '../../../test/support/hook-host.ts'
import { until } from '../../../test/support/world.ts'
import { ulid } from '../../base/text/id.ts'
import { filesystemStore } from '../../session/files/medium.ts'
import { readEvent } from '../event.ts'
import { drainQueue, marked } from './recorder.ts'
import type { QueuedCall } from './queue.ts'
import { recordCall } from './record.ts'
import type { SettingsAgentName } from '../hosts/host.ts'
const choices = { record: true } as const
const recorderBin = join(dirname(hookBin), 'hook-recorder.cjs')

const queued = (world: HookWorld): string[] => {
  const queue = join(world.home, 'hook-queue')
  return existsSync(queue) ? readdirSync(queue).filter((name) => !name.startsWith('.')) : []
}

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
  await until('the recorder has written it all', () => queued(world).length === 0)
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
    await until('the recorder has written it all', () => queued(world).length === 0)
    return (await filesystemStore({ home: world.home }).inspect(session)).summary.title
  }
  expect(await turn('told')).toBe('go on')
  expect(await turn('private', false)).toBeUndefined()
})

test('an intent is on disk before the call is allowed, and stays unsettled if the agent dies', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first', choices })
  expect(queued(world)).toHaveLength(1)
  expect(existsSync(join(world.home, 'sessions'))).toBe(false)
  expect(await drainQueue(world.env)).toBe(1)
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
  await drainQueue(world.env)
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
  for (const when of ['in the queue', 'in the session']) {
    const text = everything(world.home)
    expect(text.length, when).toBeLessThan(20_000)
    expect(text, when).toContain('<secret:env:MY_TOKEN>')
    for (const form of [secret, base64, 'correct-horse', 'hunter2']) expect(text, when).not.toContain(form)
    await drainQueue(world.env)
  }
  const { events, audit } = await recorded(world, 'first')
  expect([events, audit]).toMatchObject([[{ masked: true }], [expect.not.objectContaining({ masked: true })]])
})

test('while another process writes to the session, the records stay queued, and the next recorder writes them', async () => {
  await using world = new HookWorld()
  const store = filesystemStore({ home: world.home })
  {
    await using session = await store.create({ id: 'first' })
    await world.hook('claude', 'pre', { session: 'first', choices })
    expect(await drainQueue(world.env)).toBe(0)
    expect(queued(world)).toHaveLength(1)
    await session.append({ type: 'mine' })
  }
  expect(await drainQueue(world.env)).toBe(1)
  expect(queued(world)).toEqual([])
  const { events } = await recorded(world, 'first')
  expect(events.map(({ type }) => type)).toEqual(['mine', 'tool.call'])
})

test('a failure to record blocks nothing, unless the hook fails closed', async () => {
  await using world = new HookWorld()
  mkdirSync(world.home, { mode: 0o700 })
  symlinkSync('/nowhere', join(world.home, 'hook-queue'))
  expect(await world.hook('claude', 'pre', { choices })).toMatchObject({ allowed: true })
  expect(readFileSync(join(world.home, 'hook.log'), 'utf8')).toContain('hook-queue is a symbolic link')
  const closed = await world.hook('claude', 'pre', { choices: { record: true, failClosed: true } })
  expect(closed).toMatchObject({
    allowed: false,
    reason: expect.stringMatching(/^stint could not record this call \(.*, and --fail-closed refuses/),
  })
})

test('invalid queue files and those of dead hooks are removed, one that a hook is writing stays', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { choices })
  const queue = join(world.home, 'hook-queue')
  const texts = ['{"half', 'null', '{}', '[]', '']
  for (const [i, text] of texts.entries()) writeFileSync(join(queue, `${String(i).repeat(26)}.json`), text)
  for (const name of ['notes.txt', `.${'6'.repeat(26)}.json`, `.${'7'.repeat(26)}.json`])
    writeFileSync(join(queue, name), '{"half')
  utimesSync(join(queue, `.${'7'.repeat(26)}.json`), 0, 0)
  expect(await drainQueue(world.env)).toBe(1)
  expect(readdirSync(queue).sort()).toEqual([`.${'6'.repeat(26)}.json`, 'notes.txt'])
})

/** Queues the intent or the outcome of a call, without starting a process. */
function queueCall(world: HookWorld, session: string, moment: 'pre' | 'post', call: string): void {
  const json = hookEvent('claude', moment, { session, cwd: world.workspace, call })
  const event = readEvent(json, { configured: 'claude', env: {} })
  recordCall({ event, verdict: { block: false }, agent: null, env: world.env })
}

function callsOf(world: HookWorld, session: string, count: number): void {
  for (let i = 0; i < count; i++)
    for (const moment of ['pre', 'post'] as const) queueCall(world, session, moment, `call-${i}`)
}

const expected = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => [`tool.call call-${i}`, `tool.result call-${i}`]).flat()

test('an outcome comes after its intent even if the clock is set back between them', async () => {
  await using world = new HookWorld()
  queueCall(world, 'first', 'pre', 'call-0')
  const queue = join(world.home, 'hook-queue')
  // As if the clock had been an hour ahead.
  renameSync(join(queue, queued(world)[0] ?? ''), join(queue, `${ulid(Date.now() + 3_600_000)}.json`))
  queueCall(world, 'first', 'post', 'call-0')
  await drainQueue(world.env)
  const { events, audit, unsettled } = await recorded(world, 'first')
  expect(events.map(({ type }) => type)).toEqual(['tool.call', 'tool.result'])
  expect(audit.map(({ type }) => type)).toEqual(['intent', 'outcome'])
  expect(unsettled).toEqual([])
})

test('recorders killed at any moment write each record once, and in order', async () => {
  await using world = new HookWorld()
  const count = 5
  callsOf(world, 'first', count)
  for (let run = 0, left = 2 * count; left > 0; run++, left = queued(world).length) {
    const { child, finished } = world.start(process.execPath, [recorderBin])
    // Sometimes in the middle of a record, sometimes after it.
    const isAt = (): boolean =>
      run % 2 === 0 ? queued(world).some((name) => name.endsWith('.taken')) : queued(world).length < left
    await until('it is at work', () => isAt() || child.exitCode !== null)
    child.kill('SIGKILL')
    await finished
  }
  const { events, audit, unsettled } = await recorded(world, 'first')
  expect(events.map(({ type, call }) => `${String(type)} ${String(call)}`)).toEqual(expected(count))
  expect(audit.map(({ type, act }) => `${String(type)} ${String(act)}`)).toEqual(
    expected(count).map((text) => text.replace('tool.call', 'intent').replace('tool.result', 'outcome')),
  )
  expect(unsettled).toEqual([])
})

test('after a recorder died with half a record written, that half is not written again', async () => {
  await using world = new HookWorld()
  const store = filesystemStore({ home: world.home })
  callsOf(world, 'first', 1)
  const [name = ''] = queued(world).sort()
  const path = join(world.home, 'hook-queue', name)
  const waiting = JSON.parse(readFileSync(path, 'utf8')) as QueuedCall
  // The steps of a recorder up to the point where it is killed.
  renameSync(path, `${path}.taken`)
  const half = marked(waiting, name.slice(0, 26)).audit
  await store.visit('first', async (visit) => await visit.audit(half), { create: {} })
  expect(await drainQueue(world.env)).toBe(2)
  const { events, audit } = await recorded(world, 'first')
  expect(events.map(({ type }) => type)).toEqual(['tool.call', 'tool.result'])
  expect(audit.map(({ type }) => type)).toEqual(['intent', 'outcome'])
})

test('many recorders at once write each record once, in order, however long it has waited', async () => {
  await using world = new HookWorld()
  callsOf(world, 'first', 5)
  for (const name of queued(world)) utimesSync(join(world.home, 'hook-queue', name), 0, 0)
  const drained = await Promise.all(Array.from({ length: 4 }, () => drainQueue(world.env)))
  expect(drained.reduce((sum, each) => sum + each)).toBe(10)
  const { events } = await recorded(world, 'first')
  expect(events.map(({ type, call }) => `${String(type)} ${String(call)}`)).toEqual(expected(5))
})

test('the records of an unwritable session stay queued in order, and do not delay other sessions', async () => {
  await using world = new HookWorld()
  ensureHome(world.home)
  mkdirSync(join(world.home, 'sessions'), { mode: 0o700 })
  writeFileSync(join(world.home, 'sessions', 'broken'), '')
  callsOf(world, 'broken', 2)
  callsOf(world, 'first', 1)
  expect(await drainQueue(world.env)).toBe(2)
  expect(queued(world)).toHaveLength(4)
  expect(readFileSync(join(world.home, 'hook.log'), 'utf8').trim().split('\n')).toHaveLength(1)
  rmSync(join(world.home, 'sessions', 'broken'))
  expect(await drainQueue(world.env)).toBe(4)
  const { events } = await recorded(world, 'broken')
  expect(events.map(({ type, call }) => `${String(type)} ${String(call)}`)).toEqual(expected(2))
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
  expect(await drainQueue(world.env)).toBe(1)
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
  recordCall({ event, verdict: { block: false }, agent: null, env: world.env })
  for (const when of ['in the queue', 'in the session']) {
    const text = everything(world.home)
    expect(text, when).not.toContain('Zq9Zq9')
    expect(text, when).toContain(when === 'in the queue' ? '"MultiEdit: a"' : 'MultiEdit')
    await drainQueue(world.env)
  }
})

test('the generated id of a call reveals nothing of a secret in its input', async () => {
  await using world = new HookWorld()
  for (const secret of ['correct-horse-battery', 'incorrect-horse']) {
    world.env.MY_TOKEN = secret
    const json = { ...hookEvent('copilot', 'pre', { session: 'first', cwd: world.workspace }) }
    json.toolArgs = JSON.stringify({ command: `login ${secret}` })
    const event = readEvent(json, { configured: 'copilot', name: 'preToolUse', env: {} })
    recordCall({ event, verdict: { block: false }, agent: null, env: world.env })
  }
  expect(await drainQueue(world.env)).toBe(2)
  const { audit } = await recorded(world, 'first')
  expect(audit).toHaveLength(2)
  expect(audit[0]?.act).toBe(audit[1]?.act)
})

test('a refusal stands even if it cannot be recorded', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first' })
  symlinkSync('/nowhere', join(world.home, 'hook-queue'))
  const refused = await world.hook('claude', 'pre', { session: 'second', choices })
  expect(refused).toMatchObject({ allowed: false, reason: expect.stringContaining('held by first') })
})
