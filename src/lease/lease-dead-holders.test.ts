import { join } from 'node:path'
import { expect, test } from 'vitest'
import { killHolders, lockGround } from '../../test/support/killed-holders.ts'
import { fastDirectory } from '../../test/support/lock-storm.ts'
import { projectRoot, until, World } from '../../test/support/world.ts'
import { acquireLease } from './lease.ts'

const fixture = (name: string) => join(projectRoot, 'test/fixtures', name)

test('a holder that was suspended past its TTL learns of the loss when it wakes up', async () => {
  await using world = new World()
  using ground = lockGround(world.tmp)
  const { env, workspace, store } = ground
  const sleeper = world.start(process.execPath, [fixture('lock-sleeper.mjs'), 'sleeper', workspace, '300'], {
    env,
  })
  const says = (text: RegExp) => until(`it says ${text}`, () => text.test(sleeper.output().stdout))
  await says(/^fence \d+\n/)
  const fence = /\d+/.exec(sleeper.output().stdout)?.[0] ?? ''
  const check = [
    'lock',
    'status',
    '--json',
    '--workspace',
    workspace,
    '--session',
    'sleeper',
    '--fence',
    fence,
  ]
  sleeper.child.kill('SIGSTOP')

  await using lease = await acquireLease({ sessionId: 'next', workspace, store, wait: 60_000 })
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

// `npm run torture` kills 1,500.
test.each([
  ['', 20, 100],
  [', with long records', 10, 5000],
])(
  'kill -9 at any moment leaves a lock that the next session gets at once%s',
  async (_, times, purposeLength) => {
    await using world = new World()
    const { cycles, mostEpochs, epochs, staged } = await killHolders(world, times, purposeLength)
    console.log(`${times} killed among ${cycles} changes, ${staged.length} staged files left`)
    expect(epochs).toHaveLength(1)
    expect(staged.length).toBeLessThanOrEqual(times)
    expect(mostEpochs).toBeLessThanOrEqual(2)
    expect(cycles).toBeGreaterThan(times * 2)
  },
)

test('2,000 changes leave one file, the newest epoch', async () => {
  using ground = lockGround(fastDirectory)
  const { workspace, store } = ground
  for (let cycle = 0; cycle < 1000; cycle++)
    await (await acquireLease({ sessionId: 'cycler', workspace, store })).release()
  expect(ground.entries()).toEqual(['2000'])
})
