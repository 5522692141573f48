import { join } from 'node:path'
import { expect } from 'vitest'
import { filesystemStore } from '../../src/session/files/medium.ts'
import type { SessionState } from '../../src/session/store.ts'
import { allOf } from './all-of.ts'
import { buildSlowSync } from './build-c.ts'
import { projectRoot, World } from './world.ts'

/**
 * Runs a program that ends without closing its session, `afterMs` after the beginning of its last work, where
 * a sync takes `syncMs`. The session must be in one of these states then, and have everything that was
 * acknowledged.
 */
export async function endSession(
  how: string,
  states: readonly SessionState[],
  syncMs = 0,
  afterMs = 0,
): Promise<void> {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const env = syncMs === 0 ? {} : { LD_PRELOAD: buildSlowSync(world.tmp), SLOW_SYNC_MS: `${syncMs}` }
  const program = join(projectRoot, 'test/fixtures/session-end.mjs')
  const { stdout, code } = await world.start(process.execPath, [program, home, how, `${afterMs}`], { env })
    .finished
  expect([0, 1, 3]).toContain(code)
  const acknowledged = Number(stdout)
  const store = filesystemStore({ home })
  const { summary, manifest, ...inspection } = await store.inspect('ended')
  expect(states).toContain(summary.state)
  const closes = manifest.revisions.filter(({ kind }) => kind === 'close').length
  if (summary.state === 'closed') expect(closes).toBe(1)
  const events = await allOf(inspection.events({ all: true }))
  expect(events.length).toBeGreaterThanOrEqual(acknowledged)
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
  const { journal } = await inspection.health()
  expect(journal.state).not.toBe('damaged')
  await using again = await store.resume('ended')
  expect(again.report.tookOverFrom === undefined).toBe(summary.state === 'closed')
  expect(again.slot('count', { version: '1', initial: 0 }).value).toBe(5)
  expect((await again.append({ type: 'next' })).seq).toBe(events.length + 1)
}
