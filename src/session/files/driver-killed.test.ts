import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stormSessions } from '../../../test/support/killed-sessions.ts'
import { World } from '../../../test/support/world.ts'
import { filesystemStore } from './driver.ts'

// `npm run torture` kills 500.
test('5 writers that are killed at random moments lose nothing acknowledged, and every session resumes', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const { faults, safe } = await stormSessions(world, filesystemStore({ home }), home, 5)
  console.log(`${safe} acknowledgements heard`)
  expect(faults).toEqual([])
  expect(safe).toBeGreaterThan(5)
})
