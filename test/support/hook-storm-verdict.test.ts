import { expect, test } from 'vitest'
import { judgeWrites, type StormCall } from './hook-storm-verdict.ts'

/** A claim of `other`, granted at 1,000 and in force until 2,000, as far as the witness can tell. */
const hold = { session: 'other', grantedAt: 1000, from: 1010, until: 2000 }

const judge = (call: Partial<StormCall>, write = { from: 1500, until: 1510 }) =>
  judgeWrites(
    new Map([['call', { session: 'own', way: 'background', ...call }]]),
    { writes: [{ call: 'call', ...write }], holds: [hold] },
    300,
  )

test('a write that surely happened while another session held the workspace is a violation', () => {
  expect(judge({}).violations).toEqual([
    'call (background) of own wrote at 1500, in its turn, in the claim that other got at 1000',
  ])
  expect(judge({ endedAt: 900 }).violations).toEqual([
    'call (background) of own wrote at 1500, 600 ms after its turn, in the claim that other got at 1000',
  ])
})

test('a write that may have come before the claim or after it is none', () => {
  const none = { violations: [], hidden: 0, outlasting: 0 }
  expect(judge({}, { from: 1009, until: 1500 })).toEqual(none)
  expect(judge({}, { from: 1500, until: 2000 })).toEqual(none)
})

test('a write in the claim of its own session is none', () => {
  expect(judge({ session: 'other' }).violations).toEqual([])
})

test('a claim granted when the bound was over, and a process that hides, are limits and counted apart', () => {
  expect(judge({ endedAt: 700 })).toEqual({ violations: [], hidden: 0, outlasting: 1 })
  expect(judge({ endedAt: 701 }).violations).toHaveLength(1)
  expect(judge({ way: 'hidden' })).toEqual({ violations: [], hidden: 1, outlasting: 0 })
})

test('a write of a call that no agent has logged is an error', () => {
  const writes = [{ call: 'unknown', from: 1, until: 2 }]
  expect(() => judgeWrites(new Map(), { writes, holds: [] }, 300)).toThrow('unknown call')
})
