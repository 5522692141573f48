import { expect, test } from 'vitest'
import { parallelRuns } from '../support/parallel-runs.ts'
import { World } from '../support/world.ts'

test('2,000 runs, 8 at a time, get 2,000 directories named after their request ids, and leave none', async () => {
  await using world = new World()
  const directories = await parallelRuns(world, 2000)
  expect(directories.size).toBe(2000)
  expect(world.leftovers()).toEqual([])
})
