import { expect, test } from 'vitest'
import type { ClaimActivity } from '../../lease/index.ts'
import { lanesOf } from './lanes.ts'

const nothing: Parameters<typeof lanesOf>[1] = { claims: [], waiters: [] }
const all = { from: 0, to: 1000 }

const did = (
  session_id: string,
  kind: ClaimActivity['kind'],
  at: number,
  more: Partial<ClaimActivity> = {},
): ClaimActivity => ({ session_id, kind, at, pid: 1, paths: ['**'], purpose: null, ...more })

const spansOf = (activities: ClaimActivity[], present = nothing, stretch = all) =>
  Object.fromEntries(
    lanesOf(activities, present, stretch).map(({ session_id, spans }) => [
      session_id,
      spans.map(({ kind, from, to, end, by }) => [kind, from, to, end, by]),
    ]),
  )

test('a session waits for another, gets the claim, and gives it back', () => {
  const log = [
    did('a', 'grant', 10),
    did('b', 'wait', 20, { by: 'a' }),
    did('a', 'release', 30, { held_ms: 20 }),
    did('b', 'grant', 31),
    did('b', 'release', 40, { held_ms: 9 }),
  ]
  expect(spansOf(log)).toEqual({
    a: [['held', 10, 30, 'release', null]],
    b: [
      ['waited', 20, 31, 'grant', 'a'],
      ['held', 31, 40, 'release', null],
    ],
  })
})

test('a broken claim has its user and reason, and one that was taken over ends at its last sign of life', () => {
  const log = [
    did('a', 'grant', 10),
    did('a', 'break', 30, { held_ms: 20, by: 'ada', reason: 'hung' }),
    did('b', 'grant', 40),
    did('b', 'takeover', 900, { held_ms: 5, by: 'c' }),
    did('c', 'grant', 900),
  ]
  const [first] = lanesOf(log, nothing, all)
  expect(first?.spans[0]).toMatchObject({ end: 'break', by: 'ada', reason: 'hung' })
  expect(spansOf(log).b).toEqual([['held', 40, 45, 'takeover', 'c']])
})

test('a claim that gets more paths goes on, and one that gives some back goes on with the rest', () => {
  const log = [
    did('a', 'grant', 10, { paths: ['x'] }),
    did('a', 'grant', 20, { paths: ['x', 'y'] }),
    did('a', 'release', 30, { paths: ['x'] }),
  ]
  const claims = [{ session_id: 'a', fence: 1, paths: ['y'], acquired_at: 10, purpose: 'tidy' }]
  const [lane] = lanesOf(log, { claims, waiters: [] }, all)
  expect(lane?.spans.map(({ from, to, paths }) => [from, to, paths])).toEqual([
    [10, 30, ['x', 'y']],
    [30, null, ['y']],
  ])
  expect(lane?.purpose).toBe('tidy')
})

test('refusals and late calls are moments, and a refusal ends a wait', () => {
  const log = [
    did('a', 'wait', 10, { by: 'b' }),
    did('a', 'refusal', 20, { by: 'b' }),
    did('a', 'late', 30, { by: 'b' }),
  ]
  const [lane] = lanesOf(log, nothing, all)
  expect(lane?.spans).toMatchObject([{ kind: 'waited', from: 10, to: 20, end: 'refusal', by: 'b' }])
  expect(lane?.marks.map(({ at, kind, by }) => [at, kind, by])).toEqual([
    [20, 'refusal', 'b'],
    [30, 'late', 'b'],
  ])
})

test('what the log has forgotten is known from the claims, the waiters and the time a claim was held', () => {
  const present = {
    claims: [{ session_id: 'a', fence: 1, paths: ['**'], acquired_at: 5, purpose: null }],
    waiters: [{ session_id: 'b', paths: ['**'], since: 7 }],
  }
  expect(spansOf([did('c', 'release', 100, { held_ms: 60 })], present)).toEqual({
    a: [['held', 5, null, null, null]],
    b: [['waited', 7, null, null, null]],
    c: [['held', 40, 100, 'release', null]],
  })
  // The end of this claim was never noted: it is not there now.
  expect(spansOf([did('a', 'grant', 10), did('a', 'late', 30)])).toEqual({
    a: [['held', 10, 30, null, null]],
  })
})

test('only what overlaps the stretch is there, the earliest session first', () => {
  const log = [
    did('old', 'grant', 10),
    did('old', 'release', 20),
    did('late', 'grant', 150),
    did('early', 'grant', 110),
    did('early', 'release', 160),
    did('late', 'release', 170),
  ]
  const lanes = lanesOf(log, nothing, { from: 100, to: 200 })
  expect(lanes.map(({ session_id }) => session_id)).toEqual(['early', 'late'])
})
