import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { buildHalfDead } from '../../../test/support/build-c.ts'
import { dataOf, errorOf, LockWorld } from '../../../test/support/lock-world.ts'
import { isRunning, stintBin, until } from '../../../test/support/world.ts'
import { fileRegister, WorkspaceClaims } from '../../lease/index.ts'
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
  world.plantClaim({ holders: [{ ...me, pidns: '1', calls: [] }] })
  expect(await take()).toBe(4)
  world.plantClaim({ holders: [{ ...me, host: 'f'.repeat(32), calls: [] }] })
  expect(await take()).toBe(4)
  world.plantClaim({ holders: [{ ...me, started: 1, calls: [] }] })
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

test('records that are damaged, of another version or from the future block for a limited time', async () => {
  await using world = new LockWorld()
  const take = async (session: string) => (await world.lock(['acquire', '--session', session])).code
  const ages: [string, number, number][] = [
    ['garbage', 0, 4],
    ['garbage', 301, 0],
    ['{"schema_version":9}', 301, 0],
    [' ', 301, 0],
  ]
  for (const [text, ageSeconds, code] of ages) {
    world.plant(text)
    const top = join(world.locks, String(Math.max(...readdirSync(world.locks).map(Number))))
    const then = Date.now() / 1000 - ageSeconds
    await world.start('touch', ['-h', '-d', `@${then}`, top]).finished
    expect([text, ageSeconds, await take('a')]).toEqual([text, ageSeconds, code])
    if (code === 0) await world.lock(['release', '--session', 'a'])
  }
  world.plantClaim({ refreshed_at: Date.now() + 3_600_000, acquired_at: Date.now() + 3_600_000 })
  expect(await take('a')).toBe(0)
})

test('an empty newest epoch from before this boot, as a power loss leaves it, holds nothing; a later one blocks', async () => {
  await using world = new LockWorld()
  const { epoch } = dataOf(await world.lock(['acquire', '--session', 'before']))
  const newest = join(world.locks, String(Number(epoch) + 1))
  const files = fileRegister(join(world.home, 'locks'))
  const wall = Date.now()
  const now = { wall, mono: 60_000, clock: 'booted a minute ago' }
  const register = {
    ...files,
    perform: async (step: Parameters<typeof files.perform>[0]) =>
      step.call === 'now' ? now : await files.perform(step),
  }
  writeFileSync(newest, '')
  for (const [secondsAgo, claims] of [
    [90, []],
    [30, [{ ttl_ms: 300_000 }]],
  ] as const) {
    utimesSync(newest, wall / 1000 - secondsAgo, wall / 1000 - secondsAgo)
    const found = new WorkspaceClaims(register, { key: world.key, name: world.workspace })
    expect((await found.read()).record.claims).toMatchObject(claims)
  }
})

test('fences jump ahead after a power loss or a reboot, which may have lost epochs', async () => {
  await using world = new LockWorld()
  const before = dataOf(await world.lock(['acquire', '--session', 'before'])) as {
    epoch: number
    fence: number
  }
  const torn = join(world.locks, String(before.epoch + 1))
  writeFileSync(torn, '')
  utimesSync(torn, 0, 0)
  const after = dataOf(await world.lock(['acquire', '--session', 'after']))
  expect(after).toMatchObject({ acquired: true, epoch: before.epoch + 2 })
  expect(after.fence).toBeGreaterThan(before.fence + 1)
  await world.lock(['release', '--session', 'after'])
  world.plantClaim({}, { boot: 'another boot', generation: 3, claims: [] })
  const rebooted = dataOf(await world.lock(['acquire', '--session', 'after']))
  expect(rebooted.fence).toBeGreaterThanOrEqual(4 * 2 ** 20 + Number(rebooted.epoch))
})

test('status and a refusal say what keeps a claim busy: a running command, a question, a background process', async () => {
  await using world = new LockWorld()
  const { pid } = world.start('sleep', ['600'])
  const holder = identify(world.start('sleep', ['600']).pid)
  const call = { id: 'x', since: Date.now(), kind: 'command', name: 'make\u009b`' }
  const asked = { ...call, waiting_since: Date.now() - 60_000 }
  const process = { pid, started: identify(pid)?.started, name: 'sleep', since: Date.now() }
  const texts = async (claim: object) => {
    world.plantClaim(claim)
    const { claims } = dataOf(await world.lock(['status'])) as {
      claims: { standing: string; work: object }[]
    }
    const refused = errorOf(await world.lock(['acquire', '--session', 'other']))?.message
    return { ...claims[0]?.work, standing: claims[0]?.standing, refused }
  }
  const command = "its command `make\\u009b'`"
  expect(await texts({ holders: [{ ...holder, calls: [call] }] })).toMatchObject({
    standing: 'busy',
    state: 'running',
    kind: 'command',
    text: `${command} is under way`,
    refused: expect.stringContaining(`is held by planted; ${command}`),
  })
  expect(await texts({ holders: [{ ...holder, calls: [asked] }] })).toMatchObject({
    state: 'waiting',
    pid: null,
    refused: expect.stringContaining(`${command} has waited for its user for 1m`),
  })
  expect(await texts({ background: [process], holders: [{ ...holder, calls: [] }] })).toMatchObject({
    state: 'background',
    name: 'sleep',
    pid,
    text: `its background process \`sleep\` still runs, pid ${pid}`,
  })
  const idle = {
    turn_ended: true,
    purpose: 'tests',
    background: [process],
    holders: [{ ...holder, calls: [] }],
  }
  expect((await texts(idle)).refused).toMatch(
    / is held by planted; its turn has ended; its background process /,
  )
  const shown = await world.stint(['lock', 'status'], { cwd: world.workspace })
  expect(shown.stdout).toContain('still runs')
})
