import { expect, test } from 'vitest'
import { killHolders } from '../support/killed-holders.ts'
import { World } from '../support/world.ts'

test.each([
  ['', 1000, 100],
  [', with records too long for a symlink', 500, 5000],
])('kill -9 at any moment leaves a lock that the next session gets at once%s', async (_, times, length) => {
  await using world = new World()
  const { cycles, mostEpochs, strays } = await killHolders(world, times, length)
  console.log(`${times} killed among ${cycles} changes`)
  expect(strays).toEqual([])
  expect(mostEpochs).toBeLessThanOrEqual(4)
})
