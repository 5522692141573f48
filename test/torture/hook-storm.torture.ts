import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HookWorld } from '../support/hook-host.ts'
import { hookScript } from '../support/hook-script.ts'
import { drawWays, hookStorm, stormSummary } from '../support/hook-storm.ts'
import { allWays } from '../support/hook-storm-verdict.ts'

test('no write of a session falls into the claim of another, whatever is left behind, stopped or killed', async () => {
  await using world = new HookWorld()
  const ways = Array.from({ length: 3 }, () => drawWays(130, allWays))
  const ttlMs = 4000
  const report = await hookStorm(world, { ways, writesMs: 3200, killedHooks: 0.15, ttlMs })
  console.log(stormSummary(report))
  expect(report).toMatchObject({ calls: 390, violations: [], doubles: [], faults: [] })
  expect(report.lateWrites).toBeGreaterThan(1000)
  for (const count of Object.values(report.stops)) expect(count).toBeGreaterThan(10)
  expect(report.takenOver).toBeGreaterThan(10)
})

test('writes of a session fall into the claim of another if the script does not look for it', async () => {
  await using world = new HookWorld()
  const script = join(world.tmp, 'stint-hook.sh')
  const careless = readFileSync(hookScript, 'utf8').replace('is_from_agent && is_on_top', 'is_from_agent')
  writeFileSync(script, careless, { mode: 0o755 })
  const ways = Array.from({ length: 6 }, () => ['paused', 'plain'] as const).flat()
  const report = await hookStorm(world, { ways: [ways, ways], writesMs: 3200, ttlMs: 4000, script })
  expect(report.violations.length).toBeGreaterThan(0)
})
