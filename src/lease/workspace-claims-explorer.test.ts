import { expect, test } from 'vitest'
import { type ClaimsExploration, exploreClaims } from '../../test/support/explorer-claims.ts'
import type { ClaimsMutation } from '../../test/support/explorer-claims-mutations.ts'

const ways: [string, ClaimsExploration][] = [
  ['pauses of any length', { operations: [2, 1], ticks: 2 }],
  ['jumps of the wall clock', { operations: [2, 1], ticks: 1, jumps: 1 }],
  ['a death anywhere and a command', { operations: [2, 1], ticks: 1, crashes: 1, commands: 1 }],
  ['an interrupted turn and a command', { operations: [2, 1], ticks: 1, interruptions: 1, commands: 1 }],
  ['another that breaks a claim', { operations: [2, 1], breaks: true }],
]

test.each(ways)('of two sessions, with %s, no two hold the workspace', async (way, options) => {
  const { states, violation, trace } = await exploreClaims(options)
  console.log(`claims, ${way}: ${states} states`)
  expect(violation, trace?.join('\n')).toBeUndefined()
  expect(states).toBeGreaterThan(1000)
})

const family: ClaimsExploration = { operations: [2, 1], isFamily: true }

test('of two sessions that the holder has started, each gets the workspace beside it, and no two hold it', async () => {
  const { states, violation, trace } = await exploreClaims(family)
  console.log(`claims of a family: ${states} states`)
  expect(violation, trace?.join('\n')).toBeUndefined()
  expect(states).toBeGreaterThan(500)
})

test.each<[ClaimsMutation, string, ClaimsExploration]>([
  ['age on the wall clock', 'ses_b took over the fresh claim of ses_a', { operations: [1, 1], jumps: 1 }],
  ['a renewal that takes back', 'ses_a had lost its claim', { operations: [2, 1], ticks: 2 }],
  ['a taker that ignores a renewal', 'both hold the workspace', { operations: [2, 1], ticks: 2 }],
  [
    'processes that do not count',
    'while a command of ses_a runs',
    { operations: [1, 1], ticks: 2, commands: 1 },
  ],
  ['an end of turn that ignores processes', 'while a command', { operations: [2, 1], commands: 1 }],
  ['a prompt that does not renew', 'both hold', { operations: [2, 1], interruptions: 1 }],
  ['a party that does not know its ancestors', "because of its parent's claim", family],
  ['siblings that do not exclude each other', 'ses_a and ses_b both hold the workspace', family],
])('the explorer finds the fault of claims with: %s', async (mutation, expected, options) => {
  const { states, violation } = await exploreClaims({ ...options, mutation })
  console.log(`${mutation}: after ${states} states: ${violation}`)
  expect(violation).toContain(expected)
})
