import { expect, test } from 'vitest'
import { explore } from '../support/explorer.ts'

const ways = [
  { keptEpochs: 1 },
  { keptEpochs: 16, compactAnytime: true },
  { keptEpochs: 1, remembers: true },
  { keptEpochs: 16, compactAnytime: true, remembers: true },
]

// A writer that pauses for good, or for as long as it takes, is in all of them: any order of steps is.
test.each(
  [[3, 3] as const, [4, 2] as const].flatMap((bounds) => ways.map((way) => [...bounds, way] as const)),
)('%i writers x %i swaps, one of them may die anywhere (%j): never a double win', (writers, swaps, way) => {
  const { states, violation, trace } = explore({ writers, swaps, crashes: 1, ...way })
  console.log(`${writers} x ${swaps}, ${JSON.stringify(way)}: ${states} states`)
  expect(violation, trace?.join('\n')).toBeUndefined()
  expect(states).toBeGreaterThan(100_000)
})

test.each(ways)('what the explorer takes for one state is one: 3 writers x 2 swaps (%j)', (way) => {
  const bounds = { writers: 3, swaps: 2, ...way }
  const whole = explore({ ...bounds, unreduced: true })
  const { states, violation } = explore(bounds)
  console.log(`3 x 2 unreduced, ${JSON.stringify(way)}: ${whole.states} states, of ${whole.classes} kinds`)
  expect([whole.violation, violation]).toEqual([undefined, undefined])
  expect(whole.classes).toBe(states)
})
