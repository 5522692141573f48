import { expect, test } from 'vitest'
import { stormSessions } from '../../../test/support/killed-sessions.ts'

// `npm run torture` kills 500.
test.each([
  ['5 writers', 0],
  ['5 writers whose commits are in the thread pool, because a sync takes 3 ms,', 3],
])(
  '%s that are killed at random moments lose nothing acknowledged, and every session resumes',
  async (_, syncMs) => {
    const { faults, safe } = await stormSessions(5, syncMs)
    console.log(`${safe} acknowledgements heard`)
    expect(faults).toEqual([])
    expect(safe).toBeGreaterThan(5)
  },
)
