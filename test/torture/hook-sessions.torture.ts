import { expect, test } from 'vitest'
import { HookWorld } from '../support/hook-host.ts'
import { type SessionReport, startSession, twoSessions } from '../support/hook-sessions.ts'
import { until } from '../support/world.ts'

test('two sessions with 1,000 tool calls each, some of which go on in the background, never work at once, lose none, and name each other when refused', async () => {
  await using world = new HookWorld()
  const { reports, order } = await twoSessions(world, { calls: 1000, leaves: true })
  const [one, two] = reports
  console.log(
    `refused: ${one.denials} and ${two.denials} times; ${one.left + two.left} commands outlived their call`,
  )
  for (const report of reports) expect(report).toMatchObject({ done: 1000, overlaps: 0, faults: [] })
  expect(new Set(order).size).toBe(2000)
  expect(one.denials + two.denials).toBeGreaterThan(100)
  expect(one.left + two.left).toBeGreaterThan(100)
  for (const reason of one.reasons) expect(reason).toContain('held by two (pid ')
  for (const reason of two.reasons) expect(reason).toContain('held by one (pid ')
})

test('the commands of 100 killed sessions never run while another session works', async () => {
  await using world = new HookWorld()
  const calls = 400
  const survivor = startSession(world, 'survivor', { calls })
  let killed = 0
  for (; killed < 100 && survivor.child.exitCode === null; killed++) {
    const victim = startSession(world, `victim-${killed}`, { calls: 1, hang: 0.3 + Math.random() })
    await until(
      'it is in its call, or the survivor has finished',
      () => victim.output().stdout.includes('hanging') || survivor.child.exitCode !== null,
    )
    victim.child.kill('SIGKILL')
    await victim.finished
  }
  const report = JSON.parse((await survivor.finished).stdout) as SessionReport
  console.log(`killed ${killed} sessions in their calls; the survivor was refused ${report.denials} times`)
  expect(report).toMatchObject({ done: calls, overlaps: 0, faults: [] })
  expect(killed).toBeGreaterThan(20)
})
