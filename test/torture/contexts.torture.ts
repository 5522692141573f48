import { existsSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openRoot } from '../../src/scratch/root.ts'
import { createScratch } from '../../src/scratch/scratch.ts'
import { World } from '../support/world.ts'

test('20 contexts of 50 files, in 10 rounds, are each cleaned alone, and nothing is left', async () => {
  await using world = new World()
  const scratch = createScratch({ root: openRoot({ STINT_TMP_ROOT: world.tmp }) })
  for (let round = 0; round < 10; round++) {
    const contexts = Array.from({ length: 20 }, (_, i) => scratch.context(`context ${i}`))
    const files = contexts.map((context) => Array.from({ length: 50 }, () => context.file()))
    const order = contexts.map((_, i) => i).sort(() => Math.random() - 0.5)
    for (const [done, i] of order.entries()) {
      expect(contexts[i]?.clean()).toMatchObject({ removed: 51, failures: [] })
      for (const later of order.slice(done + 1)) expect(existsSync(files[later]?.[0] ?? '')).toBe(true)
    }
  }
  expect(readdirSync(scratch.path)).toEqual(['.stint'])
  scratch.remove()
  expect(world.leftovers()).toEqual([])
})
