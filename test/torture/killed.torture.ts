import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesystemStore } from '../../src/session/files/driver.ts'
import { stormSessions } from '../support/killed-sessions.ts'
import { buildSlowSync } from '../support/build-c.ts'
import { World } from '../support/world.ts'

test.each([
  ['500 writers', 0],
  ['500 writers whose commits are in the thread pool, because a sync takes 3 ms,', 3],
])(
  '%s that are killed at random moments lose nothing acknowledged, and every session resumes',
  async (_, ms) => {
    await using world = new World()
    const home = join(world.tmp, 'home')
    const slow = { LD_PRELOAD: buildSlowSync(world.tmp), SLOW_SYNC_MS: String(ms) }
    const env = ms > 0 ? slow : undefined
    const { faults, safe } = await stormSessions(world, filesystemStore({ home }), home, 500, env)
    console.log(`${safe} acknowledgements heard`)
    expect(faults).toEqual([])
  },
)
