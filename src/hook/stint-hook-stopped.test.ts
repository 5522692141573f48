import { expect, test } from 'vitest'
import { StoppedHooks } from '../../test/support/hook-steps.ts'

test('a hook that is stopped at any line, while another session takes its expired claim, lets no call begin', async () => {
  await using world = new StoppedHooks()
  const steps = await world.countSteps()
  const taken: boolean[] = []
  // The mark and the look are among the last lines.
  for (let step = steps; step > 0; step -= step > steps - 12 ? 2 : Math.ceil(steps / 5)) {
    const stopped = await world.stopAt(step, 'SIGCONT')
    expect(stopped).toMatchObject({ allowed: !stopped.taken })
    taken.push(stopped.taken)
  }
  expect(new Set(taken).size).toBe(2)
})
