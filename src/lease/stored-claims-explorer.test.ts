import { expect, test } from 'vitest'
import {
  exploreLeases,
  type LeaseExploration,
  type LeaseMutation,
} from '../../test/support/explorer-leases.ts'

test.each<[string, LeaseExploration]>([
  ['pauses of any length', { operations: [2, 1], ticks: 2, jumps: 0 }],
  ['jumps of the wall clock', { operations: [2, 1], ticks: 1, jumps: 1 }],
])('of two sessions, with %s, no two hold the lease, and none gets a wrong answer', (way, options) => {
  const { states, violation, trace } = exploreLeases(options)
  console.log(`leases, ${way}: ${states} states`)
  expect(violation, trace?.join('\n')).toBeUndefined()
  expect(states).toBeGreaterThan(5000)
})

const family: LeaseExploration = { operations: [2, 1], ticks: 0, jumps: 0, isFamily: true }

test('of two sessions that were started by the holder, each gets the lease beside it, and no two hold it', () => {
  const { states, violation, trace } = exploreLeases(family)
  console.log(`leases of a family: ${states} states`)
  expect(violation, trace?.join('\n')).toBeUndefined()
  expect(states).toBeGreaterThan(500)
})

test.each<[LeaseMutation, string]>([
  ['a party that does not know its ancestors', "ses_a was refused because of its parent's claim"],
  ['siblings that do not exclude each other', 'ses_a and ses_b both hold the lease'],
])('the explorer finds the fault of a family with: %s', (mutation, expected) => {
  expect(exploreLeases({ ...family, mutation }).violation).toBe(expected)
})

test('merging histories of a session loses none', () => {
  const options = { operations: [1, 1], ticks: 2, jumps: 0 }
  const whole = exploreLeases({ ...options, unreduced: true })
  const { states } = exploreLeases(options)
  expect(whole.classes).toBe(states)
  expect(whole.states).toBeGreaterThan(states)
})

test.each<[LeaseMutation, string, Partial<LeaseExploration>]>([
  ['age on the wall clock', 'ses_b took over the fresh claim of ses_a', { jumps: 1 }],
  ['a refresh that takes back', 'ses_a had lost its lease, and its refresh took it back', { ticks: 2 }],
])('the explorer finds the fault of leases with: %s', (mutation, expected, options) => {
  const { states, violation } = exploreLeases({
    operations: [2, 1],
    ticks: 0,
    jumps: 0,
    ...options,
    mutation,
  })
  console.log(`${mutation}: after ${states} states: ${violation}`)
  expect(violation).toBe(expected)
})
