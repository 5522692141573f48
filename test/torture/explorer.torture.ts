import { expect, test } from 'vitest'
import { explore } from '../support/explorer.ts'

// Every order of calls is explored, so a writer that pauses for any time, or for ever, is included.
test.each([
  [3, 3],
  [4, 2],
])(
  'of %i writers with %i swaps each, where one may die anywhere, no two win an epoch',
  async (writers, swaps) => {
    const { states, violation, trace } = await explore({ writers, swaps, crashes: 1 })
    console.log(`${writers} x ${swaps}: ${states} states`)
    expect(violation, trace?.join('\n')).toBeUndefined()
    expect(states).toBeGreaterThan(1_000_000)
  },
)

test('merging states loses none: 3 writers with 2 swaps each', async () => {
  const bounds = { writers: 3, swaps: 2 }
  const whole = await explore({ ...bounds, unreduced: true })
  const { states, violation } = await explore(bounds)
  console.log(`3 x 2 unreduced: ${whole.states} states, of ${whole.classes} classes`)
  expect([whole.violation, violation]).toEqual([undefined, undefined])
  expect(whole.classes).toBe(states)
})
