import { expect, test } from 'vitest'
import { StoppedHooks } from '../support/hook-steps.ts'

test.each(['SIGCONT', 'SIGKILL'] as const)(
  'a hook that is stopped at each line before its last look, and then gets %s, lets no call begin',
  async (signal) => {
    await using world = new StoppedHooks()
    // What is stopped later has looked at the claim: docs/guarantees.md names this limit.
    const steps = (await world.countSteps()) - StoppedHooks.afterListing
    let taken = 0
    for (let step = 1; step <= steps; step++) {
      const stopped = await world.stopAt(step, signal)
      expect(stopped).toMatchObject({ allowed: signal === 'SIGCONT' && !stopped.taken })
      taken += Number(stopped.taken)
      // Whatever a killed hook has left, the session that holds the workspace goes on.
      expect(world.pre('next', { session: stopped.taken ? 'session-b' : 'session-a' }).code).toBe(0)
    }
    console.log(`${signal}: ${steps} lines, the other session got the workspace at ${taken} of them`)
    expect(taken).toBeGreaterThan(10)
  },
)
