import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type CommandHost, commandHosts, HookWorld } from '../../../test/support/hook-host.ts'
import { until } from '../../../test/support/world.ts'
import { filesystemStore } from '../../store/filesystem/store.ts'
import { drainQueue } from './recorder.ts'

const choices = { record: true } as const

const queued = (world: HookWorld): string[] => {
  const queue = join(world.home, 'hook-queue')
  return existsSync(queue) ? readdirSync(queue).filter((name) => !name.startsWith('.')) : []
}

async function recorded(world: HookWorld, session: string) {
  const found = await filesystemStore({ home: world.home }).inspect(session)
  const [events, audit] = [[], []] as [Record<string, unknown>[], Record<string, unknown>[]]
  for await (const { type, data } of found.events()) events.push({ type, ...(data as object) })
  for await (const entry of found.audit()) audit.push(entry as unknown as Record<string, unknown>)
  return { events, audit, health: await found.health(), unsettled: await found.unsettled() }
}

/** Everything below a directory, as one text. */
const everything = (directory: string): string =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
    .join('\n')

const oneCall = async (world: HookWorld, host: CommandHost) => {
  await world.hook(host, 'pre', { session: 'first', choices })
  await world.hook(host, 'pre', { session: 'second', choices })
  await world.hook(host, 'post', { session: 'first', choices })
  await world.hook(host, 'stop', { session: 'first', choices })
  await until('the recorder has written it all', () => queued(world).length === 0)
}

test.each(commandHosts)(
  '%s: a call’s intent, its outcome and a refusal get into journal and audit',
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

test('what is about to be done waits on disk before it is allowed; an agent that dies leaves it uncertain', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first', choices })
  expect(queued(world)).toHaveLength(1)
  expect(existsSync(join(world.home, 'sessions'))).toBe(false)
  expect(await drainQueue(world.env)).toBe(1)
  const { unsettled } = await recorded(world, 'first')
  expect(unsettled).toMatchObject([{ action: 'tool.shell', subject: 'Bash: npm test' }])
})

test('a call that failed is recorded as such', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first', choices })
  await world.hook('claude', 'failure', { session: 'first', choices })
  await drainQueue(world.env)
  const { events, audit } = await recorded(world, 'first')
  expect(events[1]).toMatchObject({
    type: 'tool.result',
    ok: false,
    error: 'Command failed with exit code 1',
  })
  expect(audit[1]).toMatchObject({ type: 'outcome', ok: false })
})

test('no value of a secret variable gets to the disk, in no form, and long texts are cut', async () => {
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
})

test('while somebody else writes to the session, what a hook has is left for them', async () => {
  await using world = new HookWorld()
  const store = filesystemStore({ home: world.home })
  {
    await using session = await store.create({ id: 'first' })
    await world.hook('claude', 'pre', { session: 'first', choices })
    expect(await drainQueue(world.env)).toBe(1)
    await session.append({ type: 'mine' })
  }
  const { events } = await recorded(world, 'first')
  expect(events.map(({ type }) => type).sort()).toEqual(['mine', 'tool.call'])
})

test('recording that cannot be done blocks nothing, unless it is to fail closed', async () => {
  await using world = new HookWorld()
  mkdirSync(world.home, { mode: 0o700 })
  symlinkSync('/nowhere', join(world.home, 'hook-queue'))
  expect(await world.hook('claude', 'pre', { choices })).toMatchObject({ allowed: true })
  expect(readFileSync(join(world.home, 'hook.log'), 'utf8')).toContain('hook-queue is a symbolic link')
  const closed = await world.hook('claude', 'pre', { choices: { record: true, failClosed: true } })
  expect(closed).toMatchObject({ allowed: false, reason: expect.stringContaining('--fail-closed') })
})

test('what another recorder is at, or what makes no sense, is left out', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { choices })
  const queue = join(world.home, 'hook-queue')
  writeFileSync(join(queue, `${'0'.repeat(26)}.json`), '{"half')
  writeFileSync(join(queue, `${'1'.repeat(26)}.json.taken`), '{}')
  writeFileSync(join(queue, 'notes.txt'), 'x')
  expect(await drainQueue(world.env)).toBe(1)
  expect(readdirSync(queue).sort()).toEqual([`${'1'.repeat(26)}.json.taken`, 'notes.txt'])
})
