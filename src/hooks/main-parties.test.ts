import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hookBin, hookEvent, HookWorld } from '../../test/support/hook-host.ts'
import { stintBin } from '../../test/support/world.ts'
import type { HookChoices } from './options.ts'

const stint = `'${process.execPath}' '${stintBin}'`

/** A program that acts as an agent: it sends events of a session, and then runs a command. */
const agent = (world: HookWorld, session: string, command = 'true', cwd = world.workspace) => {
  const input = JSON.stringify(hookEvent('claude', 'pre', { cwd, session }))
  const script = `const { spawnSync } = require('node:child_process')
    const hook = spawnSync(process.execPath, [${JSON.stringify(hookBin)}, 'claude'], { input: ${JSON.stringify(input)}, encoding: 'utf8' })
    console.log(${JSON.stringify(session)}, hook.status === 0 ? 'may' : 'may not')
    const { status } = spawnSync('sh', ['-c', process.argv[1]], { stdio: 'inherit' })
    process.exitCode = status`
  return [process.execPath, '-e', script, command]
}

const words = (list: readonly string[]): string =>
  list.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')

test('an agent inside stint run --lock may work, and so may the commands and agents that it starts', async () => {
  await using world = new HookWorld()
  const inner = words(agent(world, 'inner', `${stint} run --lock -- echo locked`))
  const run = ['run', '--lock', '--session', 'outer', '--']
  const { code, stdout, stderr } = await world.stint([...run, ...agent(world, 'agent', inner)], {
    cwd: world.workspace,
  })
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toBe('agent may\ninner may\nlocked\n')
})

test('two agents under one stint run --lock exclude each other', async () => {
  await using world = new HookWorld()
  const second = words(agent(world, 'second'))
  // The first agent is still alive, and is no ancestor of the second.
  const both = `${words(agent(world, 'first', 'echo up > up; until [ -e done ]; do sleep 0.01; done'))} & until [ -e up ]; do sleep 0.01; done; ${second}; : > done; wait`
  const { stdout } = await world.stint(['run', '--lock', '--session', 'outer', '--', 'sh', '-c', both], {
    cwd: world.workspace,
  })
  expect(stdout.trim().split('\n')).toEqual(['first may', 'second may not'])
})

test('two sessions in one process exclude each other, whatever their variables say', async () => {
  await using world = new HookWorld()
  expect((await world.hook('codex', 'pre', { session: 'one' })).allowed).toBe(true)
  world.env.STINT_SESSION_ID = 'one'
  expect((await world.hook('codex', 'pre', { session: 'two' })).allowed).toBe(false)
})

test('an agent in a directory below that of the agent that started it may work there', async () => {
  await using world = new HookWorld()
  const below = join(world.workspace, 'below')
  mkdirSync(below)
  const inner = words(agent(world, 'inner', 'true', below))
  const [program = '', ...args] = agent(world, 'outer', inner)
  const { stdout } = await world.start(program, args, { cwd: world.workspace }).finished
  expect(stdout).toBe('outer may\ninner may\n')
})

test.each(['claude', 'codex'] as const)(
  '%s with --subagents apart: two subagents exclude each other until one of them ends',
  async (host) => {
    await using world = new HookWorld()
    const choices: HookChoices = { subagents: 'apart' }
    const send = async (moment: 'pre' | 'stop', agentId: string) => {
      const event = hookEvent(host, moment, { cwd: world.workspace })
      const name = moment === 'stop' ? { hook_event_name: 'SubagentStop' } : {}
      const input = JSON.stringify({ ...event, ...name, agent_id: agentId })
      return await world.hook(host, moment, { input, choices })
    }
    expect(await send('pre', 'one')).toMatchObject({ allowed: true })
    const { allowed, reason } = await send('pre', 'two')
    expect(allowed).toBe(false)
    expect(reason).toContain(
      `lock held by session-a.one (pid ${process.pid}) — wait for it: it is another subagent of your own session. `,
    )
    expect(reason).toContain('retry when that subagent is done; or end your turn')
    expect(reason).not.toMatch(/stint lock wait|close/)
    await send('stop', 'one')
    expect(await send('pre', 'two')).toMatchObject({ allowed: true })
  },
)
