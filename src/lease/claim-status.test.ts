import { expect, test } from 'vitest'
import { at, empty, granted, minute, only, wants } from '../../test/support/claim-samples.ts'
import { ageOf, claimStatus } from './claim-status.ts'

test('age is monotonic within one boot and wall time across boots; a claim from the future expires', () => {
  const claim = only(granted(empty, wants('a'), at(1000)))
  const wallJumped = { wall: 1e12 + 1e9, mono: 2000, clock: 'boot' }
  expect(ageOf(claim, wallJumped)).toBe(1000)
  expect(ageOf(claim, { wall: 1e12 + 61_000, mono: 5, clock: 'next boot' })).toBe(60_000)
  const future = { ...claim, clock: 'elsewhere', refreshed_at: 1e12 + 4 * minute }
  expect(claimStatus(future, at(0))).toBe('fresh')
  expect(claimStatus({ ...future, refreshed_at: 1e12 + 6 * minute }, at(0))).toBe('expired')
})

test('a claim that a waiter has outlasted expires if no holder is known to be alive', () => {
  const claim = only(granted(empty, wants('a'), at(0)))
  const outlasted = () => true
  expect(claimStatus(claim, at(1, { outlasted, liveness: () => 'unknown' }))).toBe('expired')
  expect(claimStatus(claim, at(1, { outlasted, liveness: () => 'alive' }))).toBe('fresh')
})
