import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { dataOf } from '../../test/support/lock-world.ts'
import { HookWorld } from '../../test/support/hook-host.ts'
import { projectRoot } from '../../test/support/world.ts'
import { filesystemStore } from '../session/files/medium.ts'

const plugin = pathToFileURL(join(projectRoot, 'dist/bin/opencode-plugin.mjs')).href

/** Runs steps in a process with the plugin, as OpenCode loads it; without `choices` it refuses at once. */
async function inOpenCode(world: HookWorld, steps: string, choices = '{}') {
  const file = join(world.tmp, 'host.mjs')
  writeFileSync(
    file,
    `import { stintPlugin } from ${JSON.stringify(plugin)}
const parents = { child: 'one' }
const asked = []
const client = { session: { get: async ({ path }) => {
  asked.push(path.id)
  if (path.id === 'unknown') throw new Error('nobody knows')
  return { data: { parentID: parents[path.id] } }
} } }
const hooks = await stintPlugin({ waitMs: 0, ...${choices} })({ directory: process.cwd(), client })
const say = (value) => console.log(JSON.stringify(value))
const before = async (sessionID, callID, tool = 'bash', args = { command: 'make' }) => {
  try { await hooks['tool.execute.before']({ tool, sessionID, callID }, { args }); say('allowed') }
  catch (error) { say(error.message) }
}
const after = (sessionID, callID, tool = 'bash', args = {}) => hooks['tool.execute.after']({ tool, sessionID, callID, args }, {})
const event = (type, properties) => hooks.event({ event: { type, properties } })
${steps}`,
  )
  const { code, stdout, stderr } = await world.start(process.execPath, [file], { cwd: world.workspace })
    .finished
  expect([code, stderr]).toEqual([0, ''])
  return stdout
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown)
}

const named = (session: string) =>
  expect.stringMatching(new RegExp(`^parallel session lock held by ${session} \\(pid \\d+\\) — `))

test('one session holds the workspace, another of the same process is refused until the first is idle', async () => {
  await using world = new HookWorld()
  const said = await inOpenCode(
    world,
    `await before('one', 'a'); await before('two', 'b'); await after('one', 'a'); await before('two', 'b')
     await event('session.idle', { sessionID: 'one' }); await before('two', 'b'); await before('one', 'c')`,
  )
  expect(said).toEqual(['allowed', named('one'), named('one'), 'allowed', named('two')])
})

test('by default, a session waits, and gets the workspace when the other one of the same process is idle', async () => {
  await using world = new HookWorld()
  const said = await inOpenCode(
    world,
    `await before('one', 'a')
     const waiting = before('two', 'b')
     await after('one', 'a'); await event('session.idle', { sessionID: 'one' }); await waiting`,
    '{ waitMs: undefined }',
  )
  expect(said).toEqual(['allowed', 'allowed'])
})

test('a subagent counts as its parent, whether its session was announced or OpenCode must be asked', async () => {
  await using world = new HookWorld()
  const said = await inOpenCode(
    world,
    `await before('one', 'a'); await before('child', 'b')
     await event('session.created', { info: { id: 'grandchild', parentID: 'child' } }); await before('grandchild', 'c')
     await event('session.idle', { sessionID: 'child' }); await before('two', 'd')
     const env = {}; await hooks['shell.env']({ cwd: '.', sessionID: 'grandchild' }, { env }); say(env)`,
  )
  expect(said).toEqual(['allowed', 'allowed', 'allowed', named('one'), { STINT_SESSION_ID: 'one' }])
})

test('a failed turn, a deleted session and the end of OpenCode release the workspace', async () => {
  await using world = new HookWorld()
  const said = await inOpenCode(
    world,
    `await before('one', 'a'); await event('session.error', { sessionID: 'one' }); await before('two', 'b')
     await event('session.deleted', { info: { id: 'two' } }); await before('three', 'c'); await hooks.dispose()
     await event('session.error', {}); await event('message.updated', undefined); await hooks['chat.message']({ sessionID: 'one' })`,
  )
  expect(said).toEqual(['allowed', 'allowed', 'allowed'])
  expect(dataOf(await world.lock(['status'])).claims).toEqual([])
})

test('only events that can change a claim ask OpenCode for the parent session', async () => {
  await using world = new HookWorld()
  const said = await inOpenCode(
    world,
    `for (let part = 0; part < 3; part++) await event('message.part.updated', { sessionID: 'unknown' })
     say(asked); await event('session.idle', { sessionID: 'unknown' }); say(asked)`,
  )
  expect(said).toEqual([[], ['unknown']])
})

test('with scope paths, an edit claims its file, and a tool that only reads claims nothing', async () => {
  await using world = new HookWorld()
  const said = await inOpenCode(
    world,
    `await before('one', 'a', 'edit', { filePath: 'x.ts' }); await before('two', 'b', 'write', { filePath: 'y.ts' })
     await before('two', 'c', 'edit', { filePath: 'x.ts' }); await before('two', 'd'); await before('two', 'e', 'read', { filePath: 'x.ts' })`,
    '{ scope: "paths" }',
  )
  expect(said).toEqual(['allowed', 'allowed', named('one'), 'allowed', 'allowed'])
})

test('an unusable home blocks nothing, unless the plugin fails closed', async () => {
  await using world = new HookWorld()
  writeFileSync(world.home, 'a file')
  expect(await inOpenCode(world, `await before('one', 'a')`)).toEqual(['allowed'])
  expect(await inOpenCode(world, `await before('one', 'a')`, '{ failClosed: true }')).toEqual([
    expect.stringContaining('failClosed'),
  ])
  expect(readFileSync(world.home, 'utf8')).toBe('a file')
})

test('a refusal stands even if it cannot be recorded', async () => {
  await using world = new HookWorld()
  const steps = `await before('one', 'a')
import { rmSync, symlinkSync } from 'node:fs'
rmSync(${JSON.stringify(join(world.home, 'sessions'))}, { recursive: true })
symlinkSync('/nowhere', ${JSON.stringify(join(world.home, 'sessions'))})
await before('two', 'b')`
  expect(await inOpenCode(world, steps, '{ record: true }')).toEqual(['allowed', named('one')])
})

test('the session of a dead OpenCode blocks no other session', async () => {
  await using world = new HookWorld()
  expect(await inOpenCode(world, `await before('one', 'a')`)).toEqual(['allowed'])
  expect(existsSync(world.locks)).toBe(true)
  expect(await inOpenCode(world, `await before('two', 'a')`)).toEqual(['allowed'])
})

test('with `record`, calls are written into the session while OpenCode goes on', async () => {
  await using world = new HookWorld()
  await inOpenCode(
    world,
    `await before('one', 'a', 'bash', { command: 'make ' + process.env.MY_TOKEN }); await before('child', 'b'); await after('one', 'a')
     await event('session.idle', { sessionID: 'one' }); await hooks.dispose()`,
    '{ record: true }',
  )
  const session = await filesystemStore({ home: world.home }).inspect('one')
  const found: unknown[] = []
  for await (const { type, data } of session.events()) found.push([type, (data as { call: string }).call])
  expect(found).toEqual([
    ['tool.call', 'a'],
    ['tool.call', 'b'],
    ['tool.result', 'a'],
  ])
  expect((await session.unsettled()).map(({ act }) => act)).toEqual(['b'])
})
