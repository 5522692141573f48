import { expect, test } from 'vitest'
import { onlyReads } from '../../src/hooks/reading/only-reads.ts'
import { makeReadingSandbox, tryCommands } from '../support/reading-sandbox.ts'
import { World } from '../support/world.ts'

test('of 20,000 made-up commands, none that is called reading changes anything', async () => {
  await using world = new World()
  const repository = makeReadingSandbox(world.tmp)
  const { ran, changing } = tryCommands(repository, { seed: 2, count: 20_000, isReading: onlyReads })
  console.log(`${ran} of 20,000 commands were called reading, ${changing.length} of them changed something`)
  expect(changing).toEqual([])
})
