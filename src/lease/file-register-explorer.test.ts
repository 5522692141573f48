import { expect, test } from 'vitest'
import { explore } from '../../test/support/explorer.ts'
import type { Mutation } from '../../test/support/explorer-mutations.ts'

test('of 3 writers with 2 swaps each, where one may die anywhere, no two win an epoch', async () => {
  const { states, violation, trace } = await explore({ writers: 3, swaps: 2, crashes: 1 })
  console.log(`3 x 2: ${states} states`)
  expect(violation, trace?.join('\n')).toBeUndefined()
  expect(states).toBeGreaterThan(90_000)
})

test('merging states loses none: 2 writers with 2 swaps each', async () => {
  const bounds = { writers: 2, swaps: 2, crashes: 1 }
  const whole = await explore({ ...bounds, unreduced: true })
  const { states, violation } = await explore(bounds)
  expect([whole.violation, violation]).toEqual([undefined, undefined])
  expect(whole.classes).toBe(states)
  expect(whole.states).toBeGreaterThan(states)
})

test.each<[Mutation, string]>([
  ['no listing after the link', 'which was not on top'],
  ['the listing before the link', 'which was not on top'],
  ['no listing after the read', 'which was never current'],
  ['a link that replaces', 'is lost'],
  ['the top epoch is deleted', 'which was not on top'],
  ['a first epoch from the clock', 'unread'],
])('the explorer finds the fault of a register with: %s', async (mutation, expected) => {
  const { states, violation } = await explore({ writers: 3, swaps: 2, mutation })
  console.log(`${mutation}: after ${states} states: ${violation}`)
  expect(violation).toContain(expected)
})
