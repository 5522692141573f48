import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { buildHalfDead } from '../../../test/support/build-c.ts'
import { dataOf, errorOf, LockWorld } from '../../../test/support/lock-world.ts'
import { isRunning, stintBin, until } from '../../../test/support/world.ts'
import { nodeFiles } from '../file-register.ts'
import type { Claim } from '../index.ts'
import { identify, ownIdentity } from '../../base/process/liveness.ts'

test('with --pid the claim ends with its process, reaped or not, but not while one of its threads still runs', async () => {
  await using world = new LockWorld()
  const take = async (session: string) => (await world.lock(['acquire', '--session', session])).code
  const sleeper = world.start('sleep', ['300'])
  await world.lock(['acquire', '--session', 'a', '--pid', String(sleeper.pid)])
  expect(await take('b')).toBe(4)
  sleeper.child.kill('SIGKILL')
  await sleeper.finished
  expect(await take('b')).toBe(0)
  await world.lock(['release', '--session', 'b'])

  const parent = world.start('sh', ['-c', 'sleep 300 & echo $!; exec sleep 301'])
  await until('the child has a pid', () => parent.output().stdout.endsWith('\n'))
  const zombie = Number(parent.output().stdout)
  await world.lock(['acquire', '--session', 'a', '--pid', String(zombie)])
  process.kill(zombie, 'SIGKILL')
  await until('it is a zombie', () => !isRunning(zombie))
  const unborn = await world.lock(['acquire', '--session', 'c', '--pid', String(zombie)])
  expect([unborn.code, errorOf(unborn)?.code]).toEqual([5, 'NOT_FOUND'])
  expect(await take('b')).toBe(0)
  await world.lock(['release', '--session', 'b'])

  const program = buildHalfDead(world.tmp)
  const halfDead = world.start(program, [])
  await until('only the other thread runs', () =>
    readFileSync(`/proc/${halfDead.pid}/stat`, 'utf8').includes(') Z '),
  )
  await world.lock(['acquire', '--session', 'a', '--pid', String(halfDead.pid)])
  expect(await take('b')).toBe(4)
  halfDead.child.kill('SIGKILL')
  await halfDead.finished
  expect(await take('b')).toBe(0)
})

test('a holder with a reused pid is dead; one in another pid namespace or on another host is not provably so', async () => {
  await using world = new LockWorld()
  const me = ownIdentity()
  const take = async () => (await world.lock(['acquire', '--session', 'me'])).code
  world.plantClaim({ holders: [{ ...me, pidns: '1' }] })
  expect(await take()).toBe(4)
  world.plantClaim({ holders: [{ ...me, host: 'f'.repeat(32) }] })
  expect(await take()).toBe(4)
  world.plantClaim({ holders: [{ ...me, started: 1 }] })
  expect(await take()).toBe(0)
})

test("from inside another pid namespace a claim is not taken over, as its holder's liveness is unknown", async () => {
  await using world = new LockWorld()
  const sleeper = world.start('sleep', ['300'])
  await world.lock(['acquire', '--session', 'a', '--pid', String(sleeper.pid)])
  const args = [stintBin, 'lock', 'acquire', '--workspace', world.workspace, '--session', 'b', '--json']
  const inside = await world.unshare(['--pid', '--fork', '--mount-proc'], process.execPath, args)
  expect(inside.code).toBe(4)
  expect(inside.envelope().error).toMatchObject({ code: 'LOCK_HELD', holder: { liveness: 'unknown' } })
})

test('a record that is damaged, of another version or empty, as a power cut leaves it, holds nothing', async () => {
  await using world = new LockWorld()
  let fence = 0
  for (const text of ['garbage', '{"schema_version":9}', ' ', '']) {
    world.plant(text)
    const granted = dataOf(await world.lock(['acquire', '--session', 'a'])) as { fence: number }
    expect(granted).toMatchObject({ acquired: true })
    // The fences of the lost record were taken from the clock, too.
    expect(granted.fence).toBeGreaterThan(fence)
    fence = granted.fence
  }
})

test('a claim that seems to end later than any can, as after a clock that was set back, holds nothing', async () => {
  await using world = new LockWorld()
  const inAYear = Date.now() + 365 * 86_400_000
  world.plantClaim({ clock: 'another boot', until: inAYear, until_wall: inAYear })
  expect((await world.lock(['acquire', '--session', 'a'])).code).toBe(0)
})

test('status and a refusal name what a session runs, has left behind, and what its dead agent has left', async () => {
  await using world = new LockWorld()
  const agent = world.start('sh', ['-c', 'sleep 600 & echo $!; wait'], {
    cwd: world.workspace,
    env: { CLAUDE_CODE_SESSION_ID: 'planted' },
  })
  await until('the command runs', () => agent.output().stdout.endsWith('\n'))
  const pid = Number(agent.output().stdout)
  const holder = identify(agent.pid)
  const claim = {
    holders: holder === undefined ? [] : [holder],
    acquired_at: Date.now() - 60_000,
    origin: { agent: 'Claude Code', variable: 'CLAUDE_CODE_SESSION_ID=planted' },
  }
  const texts = async (more: Partial<Claim>) => {
    world.plantClaim({ ...claim, ...more })
    const { claims } = dataOf(await world.lock(['status'])) as { claims: object[] }
    const asText = { cwd: world.workspace, env: { STINT_OUTPUT: 'text' } }
    const shown = await world.stint(['lock', 'status'], asText)
    const refused = errorOf(await world.lock(['acquire', '--session', 'other']))?.message
    return { claims, shown: shown.stdout, refused }
  }
  const command = `\`sleep 600\` (pid ${pid})`
  expect(await texts({})).toMatchObject({
    claims: [{ state: 'held', work: { pid, command: 'sleep 600', text: `runs ${command}` } }],
    shown: expect.stringContaining(`held for 1m, runs ${command}`),
    refused: expect.stringMatching(
      `is held by planted, Claude Code; runs ${command.replace(/[()]/g, '\\$&')}`,
    ),
  })
  const { mono } = await nodeFiles.now()
  const ended = `its turn has ended, but ${command} still runs`
  expect(await texts({ until: mono, ends: mono + 600_000 })).toMatchObject({
    claims: [{ state: 'leftover', work: { pid, text: ended } }],
    shown: expect.stringContaining(ended),
    refused: expect.stringContaining(ended),
  })
  agent.child.kill('SIGKILL')
  // Its command keeps the pipe open, so `finished` would wait for that.
  await until('the agent is dead', () => !isRunning(agent.pid))
  const died = `its agent has died, but ${command} still runs`
  expect(await texts({})).toMatchObject({
    claims: [{ state: 'leftover', liveness: 'dead', work: { pid, text: died } }],
    shown: expect.stringContaining(died),
    refused: expect.stringContaining(died),
  })
  process.kill(pid, 'SIGKILL')
  await until('it is gone', () => !isRunning(pid))
  expect(await texts({})).toMatchObject({ claims: [], shown: expect.stringContaining('/work is free') })
})
