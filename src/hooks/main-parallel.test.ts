import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HookWorld } from '../../test/support/hook-host.ts'
import { drawWays, hookStorm } from '../../test/support/hook-storm.ts'
import { startSession, twoSessions } from '../../test/support/hook-sessions.ts'
import { isRunning, projectRoot, until } from '../../test/support/world.ts'

// `npm run torture` makes 1,000 calls in each.
test('two sessions with 10 tool calls each never work at once, name each other when refused, and both finish', async () => {
  await using world = new HookWorld()
  const { reports, order } = await twoSessions(world, { calls: 10, leaves: true })
  const [one, two] = reports
  expect(one).toMatchObject({ done: 10, overlaps: 0, faults: [] })
  expect(two).toMatchObject({ done: 10, overlaps: 0, faults: [] })
  expect(order).toHaveLength(20)
  expect(one.denials + two.denials).toBeGreaterThan(0)
  const names = (session: string) =>
    new RegExp(`held by (?:${session} \\(pid |what session ${session} has left)`)
  for (const reason of one.reasons) expect(reason).toMatch(names('two'))
  for (const reason of two.reasons) expect(reason).toMatch(names('one'))
})

test('a session killed with SIGKILL blocks no other session, once the command of its call has ended', async () => {
  await using world = new HookWorld()
  const victim = startSession(world, 'victim', { calls: 1, hang: 600 })
  await until('it is in its call', () => victim.output().stdout.includes('hanging'))
  const ask = () => world.hook('claude', 'pre', { session: 'next' })
  const refused = await ask()
  expect(refused.reason).toMatch(
    new RegExp(`^parallel session lock held by victim \\(pid ${victim.pid}\\) — wait`),
  )
  victim.child.kill('SIGKILL')
  await victim.finished
  const left =
    /^parallel session lock held by what session victim has left running: `[^`]+` \(pid (\d+)\) — its agent has died; wait for that process\. Nothing/
  // The shell of the command is named first; when it has ended, what it had started.
  for (let ended = 0; ended < 2; ended++) {
    const pid = Number(left.exec((await ask()).reason)?.[1])
    process.kill(pid, 'SIGKILL')
    await until('it has ended', () => !isRunning(pid))
  }
  expect(await ask()).toMatchObject({ allowed: true })
})

// `npm run torture` has three sessions with more calls.
test('no write of a session falls into the claim of another, whatever is left behind, stopped or killed', async () => {
  await using world = new HookWorld()
  const report = await hookStorm(world, { ways: [drawWays(7), drawWays(7)], writesMs: 1600 })
  expect(report).toMatchObject({ calls: 14, kills: 2, violations: [], doubles: [], faults: [] })
  expect(report.lateWrites).toBeGreaterThan(0)
})

test('if processes do not count, writes of commands that were left behind fall into claims of others', async () => {
  const ways = Array.from({ length: 2 }, () => ['background', 'killed'] as const).flat()
  await using world = new HookWorld()
  const preload = join(projectRoot, 'test/fixtures/no-processes.cjs')
  const report = await hookStorm(world, { ways: [ways, ways], writesMs: 4800, preload })
  expect(report.violations.length).toBeGreaterThan(0)
})
