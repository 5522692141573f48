import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesystemStore } from '../../src/session/files/driver.ts'
import { stormSessions } from '../support/killed-sessions.ts'
import { World } from '../support/world.ts'

test('500 writers that are killed at random moments lose nothing acknowledged, and every session resumes', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const { faults, safe } = await stormSessions(world, filesystemStore({ home }), home, 500)
  console.log(`${safe} acknowledgements heard`)
  expect(faults).toEqual([])
})
