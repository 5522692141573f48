import { expect, test } from 'vitest'
import type { Exploration, Mutation } from '../../test/support/explorer-options.ts'
import { explore } from '../../test/support/explorer.ts'

const anytime = { keptEpochs: 16, compactAnytime: true }
const ways: [string, Pick<Exploration, 'keptEpochs' | 'compactAnytime' | 'remembers'>][] = [
  ['the driver compacts at every swap', { keptEpochs: 1 }],
  ['old epochs vanish at any moment', anytime],
  ['they remember, and the driver compacts at every swap', { keptEpochs: 1, remembers: true }],
  ['they remember, and old epochs vanish at any moment', { ...anytime, remembers: true }],
]

test.each(ways)(
  '3 writers x 2 swaps, one of them may die anywhere, and %s: never a double win',
  (way, options) => {
    const { states, violation, trace } = explore({ writers: 3, swaps: 2, crashes: 1, ...options })
    console.log(`3 x 2, ${way}: ${states} states`)
    expect(violation, trace?.join('\n')).toBeUndefined()
    expect(states).toBeGreaterThan(10_000)
  },
)

test.each(ways)('what the explorer takes for one state is one: 2 writers x 2 swaps, %s', (_way, options) => {
  const bounds = { writers: 2, swaps: 2, crashes: 1, ...options }
  const whole = explore({ ...bounds, unreduced: true })
  const { states, violation } = explore(bounds)
  expect([whole.violation, violation]).toEqual([undefined, undefined])
  expect(whole.classes).toBe(states)
  expect(whole.states).toBeGreaterThan(states)
})

test.each<[Mutation, Partial<Exploration>]>([
  ['no listing after the create', {}],
  ['no listing after the read', {}],
  ['no look for a successor', { remembers: true }],
  ['compaction of the top', {}],
  ['compaction out of order', { remembers: true }],
  ['one text for all', { remembers: true }],
])('the explorer sees what goes wrong with: %s', (mutation, options) => {
  // Unbroken, the same finds nothing, with a death on top of it: that is the first test.
  const { states, violation } = explore({ writers: 3, swaps: 2, ...anytime, ...options, mutation })
  console.log(`${mutation}: after ${states} states: ${violation}`)
  expect(violation).toBeDefined()
})
