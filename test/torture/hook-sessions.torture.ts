import { expect, test } from 'vitest'
import { HookWorld } from '../support/hook-host.ts'
import { twoSessions } from '../support/hook-sessions.ts'

test('two sessions with 1,000 tool calls each never work at once, lose none, and name each other when refused', async () => {
  await using world = new HookWorld()
  const { reports, order } = await twoSessions(world, 1000)
  const [one, two] = reports
  console.log(`refused: ${one.denials} and ${two.denials} times`)
  for (const report of reports) expect(report).toMatchObject({ done: 1000, overlaps: 0, faults: [] })
  expect(new Set(order).size).toBe(2000)
  expect(one.denials + two.denials).toBeGreaterThan(100)
  for (const reason of one.reasons) expect(reason).toContain('held by two (pid ')
  for (const reason of two.reasons) expect(reason).toContain('held by one (pid ')
})
