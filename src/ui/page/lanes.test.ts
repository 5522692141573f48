import { expect, test } from 'vitest'
import type { ClaimActivity, ClaimDescription, WaiterDescription } from '../server/protocol.ts'
import { lanesOf } from './lanes.tsx'

const did = (
  session_id: string,
  kind: ClaimActivity['kind'],
  at: number,
  more: Partial<ClaimActivity> = {},
): ClaimActivity => ({ session_id, kind, at, pid: 1, paths: ['**'], purpose: null, ...more })

const claim = (session_id: string, more: Partial<ClaimDescription>): ClaimDescription => ({
  session_id,
  parent: null,
  pid: null,
  liveness: 'alive',
  state: 'held',
  acquired_at: 0,
  held_ms: 0,
  expires_in_ms: 0,
  paths: ['**'],
  mode: 'exclusive',
  fence: 1,
  purpose: null,
  origin: null,
  work: null,
  holders: [],
  ...more,
})

const waiter = (session_id: string, since: number): WaiterDescription => ({
  session_id,
  pid: 1,
  since,
  waited_ms: 0,
  paths: ['**'],
  mode: 'exclusive',
  origin: null,
})

const lanes = (
  activities: ClaimActivity[],
  claims: ClaimDescription[] = [],
  waiters: WaiterDescription[] = [],
) => lanesOf({ activities, claims, waiters })

const spansOf = (...given: Parameters<typeof lanes>) =>
  Object.fromEntries(
    lanes(...given).map(({ session_id, spans }) => [
      session_id,
      spans.map(({ kind, from, to, ending }) => [kind, from, to, ending?.kind]),
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
    a: [['held', 10, 30, 'release']],
    b: [
      ['waited', 20, 31, 'grant'],
      ['held', 31, 40, 'release'],
    ],
  })
})

test('a broken claim has its user and reason, and one that was taken over lasts until then', () => {
  const log = [
    did('a', 'grant', 10),
    did('a', 'break', 30, { held_ms: 20, by: 'ada', reason: 'hung' }),
    did('b', 'grant', 40),
    // Calls that a pass allowed did not renew the claim, so `held_ms` is too short.
    did('b', 'takeover', 900, { held_ms: 0, by: 'c' }),
    did('c', 'grant', 900),
  ]
  const broken = lanes(log).find(({ session_id }) => session_id === 'a')
  expect(broken?.spans[0]?.ending).toMatchObject({ kind: 'break', by: 'ada', reason: 'hung' })
  expect(spansOf(log).b).toEqual([['held', 40, 900, 'takeover']])
})

test('a claim that gets more paths goes on, and one that gives some back goes on with the rest', () => {
  const log = [
    did('a', 'grant', 10, { paths: ['x'] }),
    did('a', 'grant', 20, { paths: ['x', 'y'] }),
    did('a', 'release', 30, { paths: ['x'] }),
  ]
  const [lane] = lanes(log, [claim('a', { paths: ['y'], acquired_at: 10, purpose: 'tidy' })])
  expect(lane?.spans.map(({ from, to, paths }) => [from, to, paths])).toEqual([
    [10, 30, ['x', 'y']],
    [30, null, ['y']],
  ])
  expect(lane?.purpose).toBe('tidy')
})

test('refusals are moments, and a refusal ends a wait', () => {
  const log = [did('a', 'wait', 10, { by: 'b' }), did('a', 'refusal', 20, { by: 'b' })]
  const [lane] = lanes(log)
  expect(lane?.spans).toMatchObject([{ kind: 'waited', from: 10, to: 20, ending: { kind: 'refusal' } }])
  expect(lane?.marks.map(({ at, kind, by }) => [at, kind, by])).toEqual([[20, 'refusal', 'b']])
})

test('what the log has forgotten is known from the claims, the waiters and the time a claim was held', () => {
  const log = [did('c', 'release', 100, { held_ms: 60 })]
  expect(spansOf(log, [claim('a', { acquired_at: 5 })], [waiter('b', 7)])).toEqual({
    a: [['held', 5, null, undefined]],
    b: [['waited', 7, null, undefined]],
    c: [['held', 40, 100, 'release']],
  })
  // The end of this claim was never noted: it is not there now.
  expect(spansOf([did('a', 'grant', 10), did('a', 'refusal', 30)])).toEqual({
    a: [['held', 10, 30, undefined]],
  })
})

test('a session that holds or waits now is first, then the one that was active last', () => {
  const log = [
    did('early', 'grant', 10),
    did('early', 'release', 20),
    did('late', 'grant', 150),
    did('late', 'release', 170),
  ]
  const present = [claim('holds', { acquired_at: 5 })]
  expect(lanes(log, present).map(({ session_id }) => session_id)).toEqual(['holds', 'late', 'early'])
})
