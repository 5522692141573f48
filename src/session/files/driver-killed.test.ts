import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stormSessions } from '../../../test/support/killed-sessions.ts'
import { buildSlowSync } from '../../../test/support/build-c.ts'
import { World } from '../../../test/support/world.ts'
import { filesystemStore } from './driver.ts'

// `npm run torture` kills 500.
test.each([
  ['5 writers', 0],
  ['5 writers whose commits are in the thread pool, because a sync takes 3 ms,', 3],
])(
  '%s that are killed at random moments lose nothing acknowledged, and every session resumes',
  async (_, ms) => {
    await using world = new World()
    const home = join(world.tmp, 'home')
    const slow = { LD_PRELOAD: buildSlowSync(world.tmp), SLOW_SYNC_MS: String(ms) }
    const env = ms > 0 ? slow : undefined
    const { faults, safe } = await stormSessions(world, filesystemStore({ home }), home, 5, env)
    console.log(`${safe} acknowledgements heard`)
    expect(faults).toEqual([])
    expect(safe).toBeGreaterThan(5)
  },
)
