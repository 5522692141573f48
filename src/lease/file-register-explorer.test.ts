import { expect, test } from 'vitest'
import type { Exploration, Mutation } from '../../test/support/explorer-options.ts'
import { explore } from '../../test/support/explorer.ts'

const anytime = { keptEpochs: 16, compactAnytime: true }
const ways: [string, Pick<Exploration, 'keptEpochs' | 'compactAnytime' | 'remembers'>][] = [
  ['the driver compacts at every swap', { keptEpochs: 1 }],
  ['old epochs vanish at any moment', anytime],
  ['the writers remember, and the driver compacts at every swap', { keptEpochs: 1, remembers: true }],
  ['the writers remember, and the driver keeps two epochs', { keptEpochs: 2, remembers: true }],
  ['the writers remember, and old epochs vanish at any moment', { ...anytime, remembers: true }],
]

test.each(ways)(
  'of 3 writers with 2 swaps each, where one may die anywhere and %s, no two win an epoch',
  (way, options) => {
    const { states, violation, trace } = explore({ writers: 3, swaps: 2, crashes: 1, ...options })
    console.log(`3 x 2, ${way}: ${states} states`)
    expect(violation, trace?.join('\n')).toBeUndefined()
    expect(states).toBeGreaterThan(10_000)
  },
)

test.each(ways)('merging states loses none: 2 writers with 2 swaps each, where %s', (_way, options) => {
  const bounds = { writers: 2, swaps: 2, crashes: 1, ...options }
  const whole = explore({ ...bounds, unreduced: true })
  const { states, violation } = explore(bounds)
  expect([whole.violation, violation]).toEqual([undefined, undefined])
  expect(whole.classes).toBe(states)
  expect(whole.states).toBeGreaterThan(states)
})

test.each([{ keptEpochs: 1 }, { keptEpochs: 4, remembers: true }])(
  'of 2 writers with 2 swaps each, beside a sweep that removes the key twice (%j), no two win an epoch, and none comes again',
  (options) => {
    const { states, violation, trace } = explore({
      writers: 3,
      sweepers: 1,
      swaps: 2,
      crashes: 1,
      ...options,
    })
    console.log(`2 x 2 and a sweep, ${JSON.stringify(options)}: ${states} states`)
    expect(violation, trace?.join('\n')).toBeUndefined()
    expect(states).toBeGreaterThan(10_000)
  },
)

test.each<[Mutation, string]>([
  ['a first epoch by name only', 'unread'],
  // What the sweep relies on; a week is long enough.
  ['a process that sleeps through a sweep', 'which was not on top'],
])('the explorer finds the fault of a sweep with: %s', (mutation, expected) => {
  const { states, violation } = explore({ writers: 3, sweepers: 1, swaps: 2, keptEpochs: 4, mutation })
  console.log(`${mutation}: after ${states} states: ${violation}`)
  expect(violation).toContain(expected)
})

test.each<[Mutation, Partial<Exploration>]>([
  ['no listing after the create', {}],
  ['no look at the epoch before', {}],
  ['no look below the oldest epoch', { keptEpochs: 1, compactAnytime: false, crashes: 1, remembers: true }],
  ['no listing after the read', {}],
  ['no look for a successor', { remembers: true }],
  ['compaction of the top', {}],
  ['compaction out of order', { remembers: true }],
  ['one text for all', { remembers: true }],
])('the explorer finds the fault of a driver with: %s', (mutation, options) => {
  // The first test shows that the unbroken driver passes with the same bounds, and a death as well.
  const { states, violation } = explore({ writers: 3, swaps: 2, ...anytime, ...options, mutation })
  console.log(`${mutation}: after ${states} states: ${violation}`)
  expect(violation).toBeDefined()
})
