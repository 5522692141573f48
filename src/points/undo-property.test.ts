import { afterEach, expect, test, vi } from 'vitest'
import { PointWorld } from '../../test/support/point-world.ts'
import { type Attribution, UndoHistory } from '../../test/support/undo-history.ts'

afterEach(() => void vi.unstubAllEnvs())

async function firstFault(
  seed: number,
  steps: number,
  attribution?: Attribution,
): Promise<string | undefined> {
  await using world = new PointWorld()
  const history = new UndoHistory(world, seed, attribution)
  for (let step = 0; step < steps; step += 1) {
    await history.step()
    const fault = await history.trial()
    if (fault !== undefined) return `seed ${seed}, step ${step}: ${fault}`
  }
  return undefined
}

test.each([1, 2, 3])(
  'after any history, undo gives the bytes of the rule or a conflict, and redo gives the tree back (%i)',
  async (seed) => {
    expect(await firstFault(seed, 12)).toBeUndefined()
  },
)

test('attribution by the difference of two snapshots of the directory is found to be wrong', async () => {
  const faults: (string | undefined)[] = []
  for (const seed of [1, 2, 3]) faults.push(await firstFault(seed, 12, 'directory-diff'))
  expect(faults.filter((fault) => fault !== undefined)).not.toEqual([])
})
