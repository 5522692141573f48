import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Filled, hookEvent, HookWorld, lineOf } from '../../test/support/hook-host.ts'
import type { SettingsAgentName } from './hosts/host.ts'
import type { HookChoices } from './options.ts'

// Events that newer versions of the agents send; each fixture says which version or report it comes from.

/** Sends an event of a fixture as a host would send it before a call, and returns the host's reaction. */
const send = (
  world: HookWorld,
  host: SettingsAgentName,
  name: string,
  more: Partial<Filled> & { choices?: HookChoices } = {},
) => {
  const event: unknown = hookEvent(host, name, { cwd: world.workspace, ...more })
  const input = typeof event === 'string' ? event : JSON.stringify(event)
  return world.hook(host, 'pre', { input, choices: more.choices ?? {} })
}

const sessionsOf = ({ claims }: HookWorld) => claims.map(({ session_id }) => session_id)

test.each([
  ['claude', 'subagentPrompt'],
  ['claude', 'subagentStart'],
  ['claude', 'wakeupPrompt'],
  ['claude', 'taskPrompt'],
  ['claude', 'systemPrompt'],
  ['claude', 'subagentStop'],
  ['codex', 'subagentPrompt'],
  ['qwen', 'resultPrompt'],
  ['qwen', 'backgroundStop'],
] as const)('%s: %s does not end the turn of the main thread', async (host, name) => {
  await using world = new HookWorld()
  await world.hook(host, 'pre', { session: 'first' })
  await send(world, host, name, { session: 'first' })
  expect(sessionsOf(world)).toEqual(['first'])
})

test('claude: a turn that ends with a wake-up scheduled releases the workspace', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first' })
  await send(world, 'claude', 'wakingStop', { session: 'first' })
  expect(world.claims).toEqual([])
})

test('claude: with --hold session, a fork takes over the claim of its session at its first call', async () => {
  await using world = new HookWorld()
  const choices = { hold: 'session' } as const
  await world.hook('claude', 'pre', { session: 'first', choices })
  await send(world, 'claude', 'forkEnd', { session: 'first', choices })
  await send(world, 'claude', 'forkStart', { session: 'fork', choices })
  expect(await world.hook('claude', 'pre', { session: 'fork', choices })).toMatchObject({ allowed: true })
  expect(sessionsOf(world)).toEqual(['fork'])
})

test.each(['monitor', 'powershell'])('claude: %s is refused as a shell is', async (name) => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first' })
  expect(await send(world, 'claude', name, { session: 'second' })).toMatchObject({ allowed: false })
})

test('claude: a monitor that only reads passes', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first' })
  const event = hookEvent('claude', 'monitor', { session: 'second', cwd: world.workspace })
  const input = JSON.stringify({ ...event, tool_input: { command: 'tail -f build.log' } })
  expect(await world.hook('claude', 'pre', { input })).toMatchObject({ allowed: true })
})

const cursorEdits = [
  'strReplace',
  'editTool',
  'tabWrite',
  'editNotebook',
  'applyPatch',
  'toolCall',
  'toolObject',
  'unnamedEdit',
  'unnamedWrite',
  'unnamedPatch',
  'barePatch',
]

test.each([...cursorEdits, 'unnamedCall'])(
  'cursor: %s is refused while another session holds the workspace',
  async (name) => {
    await using world = new HookWorld()
    // A claim without a process: this one is the agent of every hook that the test starts.
    await world.lock(['acquire', '--session', 'first'])
    expect(await send(world, 'cursor', name, { session: 'second' })).toMatchObject({ allowed: false })
  },
)

test.each(cursorEdits)('cursor: %s claims its file with --scope paths', async (name) => {
  await using world = new HookWorld()
  mkdirSync(join(world.workspace, 'src'))
  await send(world, 'cursor', name, { session: 'first', choices: { scope: 'paths' } })
  expect(world.claims).toMatchObject([{ paths: ['src/a.ts'] }])
})

test('cursor: a bare patch, which names no session, belongs to the session that its process holds', async () => {
  await using world = new HookWorld()
  await world.hook('cursor', 'pre', { session: 'first' })
  expect(await send(world, 'cursor', 'barePatch')).toMatchObject({ allowed: true })
  expect(sessionsOf(world)).toEqual(['first'])
})

test('copilot: an error that ends the turn releases the workspace; one that it recovers from does not', async () => {
  await using world = new HookWorld()
  const line = lineOf('copilot', 'stop').replace('agentStop', 'errorOccurred')
  const fail = (name: string) => {
    const input = JSON.stringify(hookEvent('copilot', name, { session: 'first', cwd: world.workspace }))
    return world.startHook('copilot', 'stop', { line, input }).finished
  }
  await world.hook('copilot', 'pre', { session: 'first' })
  await fail('recoverableError')
  expect(sessionsOf(world)).toEqual(['first'])
  await fail('fatalError')
  expect(world.claims).toEqual([])
})

/** Sends an event of VS Code, which runs the hooks in Claude Code's settings. */
const fromVsCode = (world: HookWorld, name: string, session: string) => {
  const input = JSON.stringify(hookEvent('vscode', name, { cwd: world.workspace, session }))
  return world.hook('claude', 'pre', { input })
}

test.each(['pre', 'edit', 'early'])(
  'VS Code: %s is refused while another session holds the workspace, and claims it until the end of the turn',
  async (name) => {
    await using world = new HookWorld()
    await world.hook('codex', 'pre', { session: 'other' })
    expect(await fromVsCode(world, name, 'first')).toMatchObject({
      allowed: false,
      reason: expect.stringContaining('lock held by other'),
    })
    expect((await fromVsCode(world, 'read', 'first')).allowed).toBe(true)
    await world.hook('codex', 'stop', { session: 'other' })
    expect((await fromVsCode(world, name, 'first')).allowed).toBe(true)
    expect(world.claims).toMatchObject([{ session_id: 'first', origin: { agent: 'VS Code' } }])
    for (const next of ['post', 'stop']) await fromVsCode(world, next, 'first')
    expect(world.claims).toEqual([])
  },
)
