import { expect, test } from 'vitest'
import { HookWorld } from '../../test/support/hook-host.ts'
import { startSession, twoSessions } from '../../test/support/hook-sessions.ts'
import { until } from '../../test/support/world.ts'

// `npm run torture` makes 1,000 calls in each.
test('two sessions with 10 tool calls each never work at once, name each other when refused, and both finish', async () => {
  await using world = new HookWorld()
  const { reports, order } = await twoSessions(world, 10)
  const [one, two] = reports
  expect(one).toMatchObject({ done: 10, overlaps: 0, faults: [] })
  expect(two).toMatchObject({ done: 10, overlaps: 0, faults: [] })
  expect(order).toHaveLength(20)
  expect(one.denials + two.denials).toBeGreaterThan(0)
  for (const reason of one.reasons) expect(reason).toContain('held by two (pid ')
  for (const reason of two.reasons) expect(reason).toContain('held by one (pid ')
})

test('a session killed with SIGKILL in the middle of a call blocks no other session', async () => {
  await using world = new HookWorld()
  const victim = startSession(world, 'victim', 1, true)
  await until('it is in its call', () => victim.output().stdout.includes('hanging'))
  const refused = await world.hook('claude', 'pre', { session: 'next' })
  expect(refused.reason).toMatch(
    new RegExp(`^parallel session lock held by victim \\(pid ${victim.pid}\\) — wait`),
  )
  victim.child.kill('SIGKILL')
  await victim.finished
  expect(await world.hook('claude', 'pre', { session: 'next' })).toMatchObject({ allowed: true })
})
