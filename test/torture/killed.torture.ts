import { expect, test } from 'vitest'
import { stormSessions } from '../support/killed-sessions.ts'

test.each([
  ['500 writers', 0],
  ['500 writers whose commits are in the thread pool, because a sync takes 3 ms,', 3],
])(
  '%s that are killed at random moments lose nothing acknowledged, and every session resumes',
  async (_, syncMs) => {
    const { faults, safe } = await stormSessions(500, syncMs)
    console.log(`${safe} acknowledgements heard`)
    expect(faults).toEqual([])
    expect(safe).toBeGreaterThan(500)
  },
)
