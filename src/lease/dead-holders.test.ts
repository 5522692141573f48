import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fastDirectory } from '../../test/support/lock-storm.ts'
import { isRunning, projectRoot, type Running, until, World } from '../../test/support/world.ts'
import { acquireLease, acquireLeaseSync } from './lease.ts'
import { homeRegister } from './file-register.ts'

const isEpoch = (name: string) => /^\d+$/.test(name)
const fixture = (name: string) => join(projectRoot, 'test/fixtures', name)

/** A home and a workspace of its own, for leases taken here and in other processes. */
function ground(under: string) {
  const directory = mkdtempSync(join(under, 'stint-lock-'))
  const [home, workspace] = [join(directory, 'home'), join(directory, 'workspace')]
  mkdirSync(workspace)
  const env = { STINT_HOME: home }
  const entries = (): string[] =>
    readdirSync(join(home, 'locks')).flatMap((key) => readdirSync(join(home, 'locks', key)))
  return {
    env,
    workspace,
    register: homeRegister(env),
    entries,
    epochs: (): string[] => entries().filter(isEpoch),
    /** What is kept beside the records, by those of other processes than ours. */
    strays: (): string[] => {
      const ours = `-${process.pid.toString(36)}-`
      return entries().filter((name) => !isEpoch(name) && !name.includes(ours))
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  }
}

test('a stopped holder past its TTL that wakes up learns it', async () => {
  await using world = new World()
  using place = ground(world.tmp)
  const { env, workspace, register } = place
  const sleeper = world.start(process.execPath, [fixture('lock-sleeper.mjs'), 'sleeper', workspace, '300'], {
    env,
  })
  const says = (text: RegExp) => until(`it says ${text}`, () => text.test(sleeper.output().stdout))
  await says(/^fence \d+\n/)
  const fence = /\d+/.exec(sleeper.output().stdout)?.[0] ?? ''
  const check = [
    'lock',
    'check',
    '--json',
    '--workspace',
    workspace,
    '--session',
    'sleeper',
    '--fence',
    fence,
  ]
  sleeper.child.kill('SIGSTOP')

  await using lease = await acquireLease({ sessionId: 'next', workspace, register, wait: 60_000 })
  expect(lease.fence).toBeGreaterThan(Number(fence))
  sleeper.child.kill('SIGCONT')
  await says(/aborted LOCK_LOST/)
  sleeper.child.kill('SIGUSR2')
  await says(/refresh false/)
  const checked = await world.stint(check, { env })
  expect(checked.code).toBe(4)
  expect(checked.envelope().error?.code).toBe('LOCK_LOST')
  expect(await lease.check()).toBe(true)
})

test.each([
  ['', 150, 100],
  [', with records too long for a symlink', 50, 5000],
])(
  'kill -9 at any moment leaves a lock that the next session gets at once%s',
  async (_, times, purposeLength) => {
    await using world = new World()
    using place = ground(fastDirectory)
    const { env, workspace, register } = place
    const start = () =>
      world.start(process.execPath, [fixture('lock-cycler.mjs'), workspace, String(purposeLength)], { env })
    // The next ones get ready while one is at work.
    const waiting: Running[] = [start(), start()]
    let fence = 0
    let cycles = 0
    for (let time = 0; time < times; time++) {
      waiting.push(start())
      const cycler = waiting.shift()
      if (cycler === undefined) throw new Error('there is always one')
      const says = (word: string) => until(`it is ${word}`, () => cycler.output().stdout.includes(word))
      await says('ready')
      cycler.child.kill('SIGUSR2')
      await says('going')
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5))
      cycler.child.kill('SIGKILL')
      // Every other one is still a zombie when its lock is taken.
      if (time % 2 === 0) while (isRunning(cycler.pid));
      else await cycler.finished
      const lease = acquireLeaseSync({ sessionId: `next-${time}`, workspace, register })
      expect(lease.fence).toBeGreaterThan(fence)
      cycles += lease.fence - fence
      fence = lease.fence
      expect(place.epochs().length).toBeLessThanOrEqual(4)
      lease.releaseSync()
      await cycler.finished
    }
    for (const cycler of waiting) cycler.child.kill('SIGKILL')
    for (let cycle = 0; cycle < 16; cycle++)
      acquireLeaseSync({ sessionId: 'last', workspace, register }).releaseSync()
    expect(place.strays()).toEqual([])
    console.log(`${times} killed among ${cycles} changes`)
    expect(cycles).toBeGreaterThan(times * 2)
  },
)

test('10,000 cycles leave the four newest epochs, and one file with what they have in common', () => {
  using place = ground(fastDirectory)
  const { workspace, register } = place
  for (let cycle = 0; cycle < 10_000; cycle++)
    acquireLeaseSync({ sessionId: 'cycler', workspace, register }).releaseSync()
  expect(place.epochs()).toHaveLength(4)
  expect(place.entries().length).toBeLessThanOrEqual(5)
})
