import { expect, test } from 'vitest'
import { StoppedHooks } from '../../test/support/hook-steps.ts'

test('a hook that is stopped before it looks at the claim, while another session takes it, lets no call begin', async () => {
  await using world = new StoppedHooks()
  const last = (await world.countSteps()) - StoppedHooks.afterListing
  const taken: boolean[] = []
  for (let step = last; step > 0; step -= step > last - 12 ? 3 : Math.ceil(last / 5)) {
    const stopped = await world.stopAt(step, 'SIGCONT')
    expect(stopped).toMatchObject({ allowed: !stopped.taken })
    taken.push(stopped.taken)
  }
  expect(new Set(taken)).toEqual(new Set([true]))
})
