import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesystemStore } from '../../src/session/files/driver.ts'
import { stormSessions } from '../support/killed-sessions.ts'
import { World } from '../support/world.ts'

test('500 writers killed at any moment: nothing they were told is safe is lost, and every session resumes', async () => {
  await using world = new World()
  const home = join(world.tmp, 'home')
  const { faults, safe } = await stormSessions(world, filesystemStore({ home }), home, 500)
  console.log(`${safe} acknowledgements heard`)
  expect(faults).toEqual([])
})
