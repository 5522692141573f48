import { expect, test } from 'vitest'
import { HookWorld } from '../support/hook-host.ts'
import { drawWays, hookStorm, stormSummary } from '../support/hook-storm.ts'

test('no write of a session falls into the claim of another, whatever is left behind, stopped or killed', async () => {
  await using world = new HookWorld()
  const ways = Array.from({ length: 3 }, () => drawWays(130))
  const report = await hookStorm(world, { ways, boundMs: 2000, killedHooks: 0.15 })
  console.log(stormSummary(report))
  expect(report).toMatchObject({ calls: 390, violations: [], doubles: [], faults: [] })
  expect(report.lateWrites).toBeGreaterThan(1000)
})
