import { expect, test } from 'vitest'
import { type ClaimsExploration, exploreClaims } from '../support/explorer-claims.ts'
import { ttlMs } from '../support/explorer-session.ts'

test.each<[string, ClaimsExploration]>([
  ['two, where the wall clock jumps', { operations: [2, 2], ticks: 2, jumps: 1 }],
  ['two, of which one may die anywhere', { operations: [2, 2], ticks: 2, crashes: 1, commands: 1 }],
  // After two ticks a claim is exactly as old as its TTL.
  ['two, to the millisecond', { operations: [2, 2], ticks: 3, tickMs: ttlMs / 2, jumps: 1 }],
  ['two, interrupted', { operations: [3, 2], ticks: 1, interruptions: 1, commands: 1 }],
  ['three, of which one breaks a claim', { operations: [1, 1, 1], breaks: true }],
])('of sessions with pauses of any length, %s, no two hold the workspace', async (way, options) => {
  const { states, violation, trace } = await exploreClaims(options)
  console.log(`claims, ${way}: ${states} states`)
  expect(violation, trace?.join('\n')).toBeUndefined()
  expect(states).toBeGreaterThan(100_000)
})
