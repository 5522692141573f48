import { readdirSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { World } from '../../../test/support/world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world[Symbol.asyncDispose]())

test('the demo shows what it tells, in real processes, and leaves nothing', async () => {
  const { code, envelope } = await world.stint(['demo', '--json'])
  expect(envelope()).toMatchObject({
    ok: true,
    data: {
      scenes: {
        collide: { edits: 2, kept: 1 },
        'take-turns': { edits: 2, kept: 2, refused_exit: 4 },
        'killed-run': { files: 200, left: 0 },
        'killed-session': { acknowledged: expect.any(Number) },
      },
    },
  })
  const { acknowledged, recovered } = (envelope().data as { scenes: Record<string, Record<string, number>> })
    .scenes['killed-session'] as { acknowledged: number; recovered: number }
  expect(acknowledged).toBeGreaterThanOrEqual(25)
  expect(recovered).toBeGreaterThanOrEqual(acknowledged)
  expect(code).toBe(0)
  expect(readdirSync(world.root).filter((name) => name.startsWith('req_'))).toEqual([])
})

test('a person reads what happens, plainly where there is no terminal', async () => {
  const { code, stdout } = await world.stint(['demo'])
  expect(code).toBe(0)
  expect(stdout).toContain('ada’s edit is lost')
  expect(stdout).toContain('both edits are there')
  expect(stdout).toContain('nothing is left')
  expect(stdout).toMatch(/all \d+ are there/)
  expect(stdout).not.toContain('\x1b')
})
