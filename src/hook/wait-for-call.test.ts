import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commandHosts, HookWorld, lineOf, outcome } from '../../test/support/hook-host.ts'
import { dataOf } from '../../test/support/lock-world.ts'
import { until } from '../../test/support/world.ts'

const waitersIn = (world: HookWorld): string[] => {
  const queue = join(world.home, 'locks', `.waiters-${world.key}`)
  return existsSync(queue) ? readdirSync(queue) : []
}

test.each(commandHosts)(
  '%s: a call waits while another session holds the workspace, and runs when it is released',
  async (host) => {
    await using world = new HookWorld()
    await world.hook(host, 'pre', { session: 'first' })
    const line = lineOf(host, 'pre', { waitMs: 60_000 })
    const waiting = world.startHook(host, 'pre', { session: 'second', line })
    await until('it waits', () => waitersIn(world).length === 1)
    expect(dataOf(await world.lock(['status']))).toMatchObject({
      claims: [{ session_id: 'first' }],
      waiters: [{ session_id: 'second', paths: ['**'], mode: 'exclusive' }],
    })
    await world.hook(host, 'stop', { session: 'first' })
    const ended = await waiting.finished
    expect(outcome(host, ended)).toEqual({ allowed: true, reason: '' })
    expect(world.claims).toMatchObject([{ session_id: 'second', standing: 'busy' }])
    expect(waitersIn(world)).toEqual([])
  },
)

test('after its time the call is refused: the reason says how long it waited, and what the model can run', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first' })
  const refused = await world.hook('claude', 'pre', { session: 'second', choices: { waitMs: 1000 } })
  expect(refused.allowed).toBe(false)
  expect(refused.reason).toMatch(/^parallel session lock held by first /)
  expect(refused.reason).toContain('The hook has waited 1s for it.')
  expect(refused.reason).toContain(
    '`stint lock wait --timeout 60s`, run as a command of its own, ends as soon as it is free',
  )
  expect(waitersIn(world)).toEqual([])
  const activities = dataOf(await world.lock(['history'])).activities as { kind: string }[]
  expect(activities.map(({ kind }) => kind)).toEqual(['grant', 'wait', 'refusal'])
})

test('a refusal says how many wait already', async () => {
  await using world = new HookWorld()
  await world.hook('claude', 'pre', { session: 'first' })
  const waiting = world.startHook('claude', 'pre', {
    session: 'second',
    line: lineOf('claude', 'pre', { waitMs: 60_000 }),
  })
  await until('it waits', () => waitersIn(world).length === 1)
  const refused = await world.hook('claude', 'pre', { session: 'third' })
  expect(refused.reason).toMatch(/\. 1 session has waited for it for \d+s\. Nothing was changed/)
  waiting.child.kill('SIGTERM')
})

test.each(['SIGTERM', 'SIGINT'] as const)(
  'a hook that %s ends while it waits leaves no waiter',
  async (signal) => {
    await using world = new HookWorld()
    await world.hook('claude', 'pre', { session: 'first' })
    const line = `exec ${lineOf('claude', 'pre', { waitMs: 60_000 })}`
    const waiting = world.startHook('claude', 'pre', { session: 'second', line })
    await until('it waits', () => waitersIn(world).length === 1)
    waiting.child.kill(signal)
    expect(await waiting.finished).toMatchObject({ signal })
    expect(waitersIn(world)).toEqual([])
    expect(existsSync(join(world.home, 'hook.log'))).toBe(false)
  },
)
