import { expect, test } from 'vitest'
import { killHolders } from '../support/killed-holders.ts'
import { World } from '../support/world.ts'

test.each([
  ['', 1000, 100],
  [', with long records', 500, 5000],
])('kill -9 at any moment leaves a lock that the next session gets at once%s', async (_, times, length) => {
  await using world = new World()
  const { cycles, mostEpochs, epochs, staged } = await killHolders(world, times, length)
  console.log(`${times} killed among ${cycles} changes, ${staged.length} staged files left`)
  expect(epochs).toHaveLength(1)
  expect(staged.length).toBeLessThanOrEqual(times)
  expect(mostEpochs).toBeLessThanOrEqual(2)
})
