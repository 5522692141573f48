import { expect, test } from 'vitest'
import { exploreLeases, type LeaseExploration } from '../support/explorer-leases.ts'
import { ttlMs } from '../support/explorer-session.ts'

test.each<[string, LeaseExploration]>([
  ['two of them, and the wall clock jumps', { operations: [2, 2], ticks: 2, jumps: 1 }],
  ['two of them, and one may die anywhere', { operations: [2, 2], ticks: 2, jumps: 0, crashes: 1 }],
  // At two ticks a claim is exactly as old as it may be.
  ['two of them, to the millisecond', { operations: [2, 2], ticks: 3, tickMs: ttlMs / 2, jumps: 1 }],
  ['two of them, at length', { operations: [3, 3], ticks: 2, jumps: 0 }],
  ['three of them, and the wall clock jumps', { operations: [2, 1, 1], ticks: 2, jumps: 1 }],
  ['three of them, and one may die anywhere', { operations: [1, 1, 1], ticks: 3, jumps: 1, crashes: 1 }],
])(
  'sessions with pauses of any length, %s: never two holders, nobody is told anything wrong',
  (way, options) => {
    const { states, violation, trace } = exploreLeases(options)
    console.log(`leases, ${way}: ${states} states`)
    expect(violation, trace?.join('\n')).toBeUndefined()
    expect(states).toBeGreaterThan(100_000)
  },
)

test('what the explorer takes for one past of a session is one', () => {
  for (const options of [
    { operations: [1, 1], ticks: 2, jumps: 1 },
    { operations: [2, 2], ticks: 1, jumps: 0 },
  ]) {
    const whole = exploreLeases({ ...options, unreduced: true })
    const { states } = exploreLeases(options)
    console.log(`leases, all pasts told apart: ${whole.states} states, of ${whole.classes} kinds`)
    expect(whole.classes).toBe(states)
  }
})
