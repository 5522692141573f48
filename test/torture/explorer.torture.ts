import { expect, test } from 'vitest'
import { explore } from '../support/explorer.ts'

const ways = [
  { keptEpochs: 1 },
  { keptEpochs: 16, compactAnytime: true },
  { keptEpochs: 1, remembers: true },
  { keptEpochs: 16, compactAnytime: true, remembers: true },
]

// Every order of steps is explored, so a writer that pauses for any time, or for ever, is included.
test.each(
  [[3, 3] as const, [4, 2] as const].flatMap((bounds) => ways.map((way) => [...bounds, way] as const)),
)(
  'of %i writers with %i swaps each, where one may die anywhere (%j), no two win an epoch',
  (writers, swaps, way) => {
    const { states, violation, trace } = explore({ writers, swaps, crashes: 1, ...way })
    console.log(`${writers} x ${swaps}, ${JSON.stringify(way)}: ${states} states`)
    expect(violation, trace?.join('\n')).toBeUndefined()
    expect(states).toBeGreaterThan(100_000)
  },
)

test.each(ways)('merging states loses none: 3 writers with 2 swaps each (%j)', (way) => {
  const bounds = { writers: 3, swaps: 2, ...way }
  const whole = explore({ ...bounds, unreduced: true })
  const { states, violation } = explore(bounds)
  console.log(`3 x 2 unreduced, ${JSON.stringify(way)}: ${whole.states} states, of ${whole.classes} classes`)
  expect([whole.violation, violation]).toEqual([undefined, undefined])
  expect(whole.classes).toBe(states)
})
