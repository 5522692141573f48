import { expect, test } from 'vitest'
import { exploreLeases, type LeaseExploration } from '../support/explorer-leases.ts'
import { ttlMs } from '../support/explorer-session.ts'

test.each<[string, LeaseExploration]>([
  ['two, where the wall clock jumps', { operations: [2, 2], ticks: 2, jumps: 1 }],
  ['two, of which one may die anywhere', { operations: [2, 2], ticks: 2, jumps: 0, crashes: 1 }],
  // After two ticks a claim is exactly as old as its TTL.
  ['two, to the millisecond', { operations: [2, 2], ticks: 3, tickMs: ttlMs / 2, jumps: 1 }],
  ['two, for longer', { operations: [3, 3], ticks: 2, jumps: 0 }],
  ['three, where the wall clock jumps', { operations: [2, 1, 1], ticks: 2, jumps: 1 }],
  ['three, of which one may die anywhere', { operations: [1, 1, 1], ticks: 3, jumps: 1, crashes: 1 }],
])(
  'of sessions with pauses of any length, %s, no two hold the lease, and none gets a wrong answer',
  (way, options) => {
    const { states, violation, trace } = exploreLeases(options)
    console.log(`leases, ${way}: ${states} states`)
    expect(violation, trace?.join('\n')).toBeUndefined()
    expect(states).toBeGreaterThan(100_000)
  },
)

test('merging histories of a session loses none', () => {
  for (const options of [
    { operations: [1, 1], ticks: 2, jumps: 1 },
    { operations: [2, 2], ticks: 1, jumps: 0 },
  ]) {
    const whole = exploreLeases({ ...options, unreduced: true })
    const { states } = exploreLeases(options)
    console.log(`leases, unreduced: ${whole.states} states, of ${whole.classes} classes`)
    expect(whole.classes).toBe(states)
  }
})
