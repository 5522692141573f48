import { expect, test } from 'vitest'
import { explore } from '../support/explorer.ts'

// That old epochs vanish at any moment stands for every way in which a writer, however slow, could compact them: the driver's own compaction,
// explored in the suite at 3 x 2, has too many states at these bounds. A writer that pauses for good is in it, as any order of steps is.
test.each([
  [4, 2],
  [3, 3],
])('%i writers x %i swaps, and old epochs vanish at any moment: never a double win', (writers, swaps) => {
  const { states, violation, trace } = explore({ writers, swaps, keptEpochs: 16, compactAnytime: true })
  console.log(`${writers} x ${swaps}: ${states} states`)
  expect(violation, trace?.join('\n')).toBeUndefined()
  expect(states).toBeGreaterThan(100_000)
})
