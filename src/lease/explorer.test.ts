import { expect, test } from 'vitest'
import { type Exploration, explore, type Mutation } from '../../test/support/explorer.ts'

const bounds = { writers: 3, swaps: 2 }
const ways: [string, Omit<Exploration, keyof typeof bounds>][] = [
  ['the driver compacts at every swap', { keptEpochs: 1, crashes: 1 }],
  ['old epochs vanish at any moment', { keptEpochs: 16, compactAnytime: true, crashes: 1 }],
]

test.each(ways)(
  '3 writers x 2 swaps, one of them may die anywhere, and %s: never a double win',
  (way, options) => {
    const { states, violation, trace } = explore({ ...bounds, ...options })
    console.log(`${way}: ${states} states`)
    expect(violation, trace?.join('\n')).toBeUndefined()
    expect(states).toBeGreaterThan(10_000)
  },
)

test('writers that remember what they have read are no different: 2 writers x 3 swaps', () => {
  for (const options of [{ keptEpochs: 1 }, { keptEpochs: 16, compactAnytime: true }]) {
    const { states, violation, trace } = explore({
      writers: 2,
      swaps: 3,
      crashes: 1,
      remembers: true,
      ...options,
    })
    console.log(`remembering: ${states} states`)
    expect(violation, trace?.join('\n')).toBeUndefined()
    expect(states).toBeGreaterThan(1000)
  }
})

test.each<[Mutation, Partial<Exploration>]>([
  ['no listing after the create', { keptEpochs: 16, compactAnytime: true }],
  ['no listing after the read', { keptEpochs: 1 }],
  ['compaction of the top', { keptEpochs: 16, compactAnytime: true }],
])('the explorer sees what goes wrong with: %s (%j)', (mutation, options) => {
  const { states, violation } = explore({ ...bounds, keptEpochs: 1, ...options, mutation })
  console.log(`${mutation}: after ${states} states: ${violation}`)
  expect(violation).toBeDefined()
})
