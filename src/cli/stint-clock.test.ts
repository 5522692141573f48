import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { dataOf, SessionWorld } from '../../test/support/session-world.ts'
import { projectRoot } from '../../test/support/world.ts'

let world: SessionWorld
beforeEach(() => {
  world = new SessionWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

const env = { NODE_OPTIONS: `--require ${join(projectRoot, 'test/fixtures/before-1970.cjs')}` }

test('on a machine whose clock is before 1970, runs get valid ids and recorded events can be read', async () => {
  const run = await world.stint(['run', '--record', '--session', 'early', '--', 'true'], { env })
  expect([run.code, run.stderr]).toEqual([0, ''])
  const append = ['sessions', 'append', 'early', '--type', 'note', '--data', '1', '--json']
  expect((await world.stint(append, { env })).envelope()).toMatchObject({ ok: true })
  const verified = dataOf(await world.run('verify', 'early'))
  expect(verified).toMatchObject({ checked: 1, damaged: 0 })
  const events = await world.stint(['sessions', 'tail', 'early', '--json', '--type', 'note'], { env })
  expect(JSON.parse(events.stdout)).toMatchObject({ data: 1 })
})
