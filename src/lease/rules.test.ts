import { expect, test } from 'vitest'
import {
  at,
  empty,
  granted,
  identity,
  isGranted,
  lives,
  minute,
  only,
  wants,
} from '../../test/support/claim-samples.ts'
import { type ClaimsRecord, defaultBusyTtlMs } from './claim-record.ts'
import { decideAcquire, decideBreak, checkClaim, decideRefresh, decideRelease, withHolder } from './rules.ts'

test('a free workspace is granted, with a fence', () => {
  expect(only(granted(empty, wants('a'), at(0), 7))).toMatchObject({
    session_id: 'a',
    pid: 97,
    ttl_ms: 300_000,
    busy_ttl_ms: 7_200_000,
    fence: 7,
    first_fence: 7,
    paths: ['**'],
    mode: 'exclusive',
    detached: false,
  })
})

test('a fresh claim of another session refuses, with its holder and when to retry', () => {
  const held = granted(empty, wants('a', { purpose: 'testing' }), at(0))
  const { answer, next } = decideAcquire(held, wants('b'), at(minute), 2)
  expect(next).toBeUndefined()
  expect(answer).toMatchObject({
    granted: false,
    by: { session_id: 'a', purpose: 'testing' },
    retryAfterMs: 4 * minute + 1,
  })
})

test('a claim is fresh at exactly its TTL, and expired a millisecond later', () => {
  const held = granted(empty, wants('a'), at(0))
  expect(isGranted(held, wants('b'), at(5 * minute))).toBe(false)
  expect(isGranted(held, wants('b'), at(5 * minute + 1))).toBe(true)
})

test("a dead holder's claim is free at once; one of unknown liveness expires by time alone", () => {
  const held = granted(empty, wants('a'), at(0))
  expect(isGranted(held, wants('b'), at(1, { liveness: lives({ 97: 'dead' }) }))).toBe(true)
  expect(isGranted(held, wants('b'), at(1, { liveness: lives({ 97: 'unknown' }) }))).toBe(false)
  expect(isGranted(held, wants('b'), at(5 * minute + 1, { liveness: lives({ 97: 'unknown' }) }))).toBe(true)
})

test('acquiring again refreshes the claim and keeps its fence; asking for more gives a new one', () => {
  const held = granted(empty, wants('a', { paths: ['src'] }), at(0), 1)
  const again = only(granted(held, wants('a', { paths: ['src/api'] }), at(minute), 2))
  expect(again).toMatchObject({ fence: 1, first_fence: 1, paths: ['src'], mono: minute, acquired_at: 1e12 })
  const wider = only(granted(held, wants('a', { paths: ['docs'] }), at(minute), 3))
  expect(wider).toMatchObject({ fence: 3, first_fence: 1, paths: ['docs', 'src'] })
  const stronger = granted(empty, wants('a', { mode: 'shared' }), at(0), 1)
  expect(only(granted(stronger, wants('a'), at(0), 4))).toMatchObject({ fence: 4, mode: 'exclusive' })
  expect(only(granted(stronger, wants('a', { mode: 'shared' }), at(0), 4))).toMatchObject({
    fence: 1,
    mode: 'shared',
  })
})

test('a claim whose living holder has a call in flight outlasts its TTL, up to the busy TTL', () => {
  const held = granted(empty, wants('a', { call: { id: 'call-1' } }), at(0))
  expect(isGranted(held, wants('b'), at(20 * minute))).toBe(false)
  expect(isGranted(held, wants('b'), at(20 * minute, { liveness: lives({ 97: 'dead' }) }))).toBe(true)
  expect(isGranted(held, wants('b'), at(20 * minute, { liveness: lives({ 97: 'unknown' }) }))).toBe(true)
  expect(isGranted(held, wants('b'), at(defaultBusyTtlMs))).toBe(false)
  expect(isGranted(held, wants('b'), at(defaultBusyTtlMs + 1))).toBe(true)
})

test('a call that begins twice counts once, and a process that joins twice is one holder with its calls', () => {
  const calls = (claims: ClaimsRecord) => only(claims).holders.map((each) => each.calls.map(({ id }) => id))
  const begin = (claims: ClaimsRecord, call: string) =>
    granted(claims, wants('a', { call: { id: call } }), at(1))
  const two = ['1', '2', '1'].reduce(begin, empty)
  expect(calls(two)).toEqual([['2', '1']])
  const join = (claims: ClaimsRecord, pid: number) =>
    decideRefresh(claims, { sessionId: 'a', holders: (before) => withHolder(before, identity(pid)) }, at(2))
      .next
  const joined = join(join(two, 200) ?? empty, 200)
  expect(joined && calls(joined)).toEqual([['2', '1'], []])
  const again = join(two, 97)
  expect(again && calls(again)).toEqual([['2', '1']])
})

test('a claim outlives a holder that dies or leaves, and ends with the last one', () => {
  const both = granted(granted(empty, wants('a'), at(0)), wants('a', { holder: identity(200) }), at(0))
  expect(only(both).holders.map(({ pid }) => pid)).toEqual([97, 200])
  expect(isGranted(both, wants('b'), at(1, { liveness: lives({ 97: 'dead' }) }))).toBe(false)
  expect(isGranted(both, wants('b'), at(1, { liveness: lives({ 97: 'dead', 200: 'dead' }) }))).toBe(true)
  const one = decideRelease(both, { sessionId: 'a', holders: [identity(97)] })
  expect(one.answer).toMatchObject({ released: true, claim: { holders: [{ pid: 200 }] } })
  expect(decideRelease(one.next ?? empty, { sessionId: 'a', holders: [identity(200)] }).next?.claims).toEqual(
    [],
  )
})

test('a claim without a process ends by its time alone, even after a process has joined and left it', () => {
  const detached = granted(empty, wants('a', { holder: null }), at(0))
  expect(only(detached)).toMatchObject({ pid: null, detached: true, holders: [] })
  const joined = granted(detached, wants('a', { holder: identity(5) }), at(0))
  expect(isGranted(joined, wants('b'), at(1, { liveness: () => 'dead' }))).toBe(false)
  const left = decideRelease(joined, { sessionId: 'a', holders: [identity(5)] }).next
  expect(left && only(left)).toMatchObject({ detached: true, holders: [] })
  expect(isGranted(left ?? empty, wants('b'), at(5 * minute + 1))).toBe(true)
})

test('a claim moves to a new session id only if the host says so and the process is the same', () => {
  const held = granted(empty, wants('a'), at(0), 1)
  const renamed = wants('n', { renamedFrom: 'a', holder: identity(97) })
  expect(only(granted(held, renamed, at(1), 2))).toMatchObject({ session_id: 'n', fence: 1 })
  expect(isGranted(held, wants('n', { holder: identity(97) }), at(1))).toBe(false)
  expect(isGranted(held, wants('n', { renamedFrom: 'a', holder: identity(98) }), at(1))).toBe(false)
})

test('refresh and release act only for the owner, and report when they do nothing', () => {
  const held = granted(empty, wants('a'), at(0))
  expect(decideRefresh(held, { sessionId: 'b' }, at(1))).toEqual({ answer: {} })
  expect(decideRelease(held, { sessionId: 'b' })).toEqual({ answer: { released: false } })
  expect(decideRefresh(held, { sessionId: 'a', firstFence: 9 }, at(1)).answer.claim).toBeUndefined()
  expect(decideRelease(held, { sessionId: 'a', firstFence: 9 }).answer.released).toBe(false)
  expect(decideRefresh(held, { sessionId: 'a' }, at(minute)).answer.claim).toMatchObject({
    mono: minute,
    ttl_ms: 300_000,
  })
  expect(decideRelease(held, { sessionId: 'a' }).next?.claims).toEqual([])
})

test('a broken claim is recorded once, with who did it and why; a claim with another fence is left alone', () => {
  const held = granted(empty, wants('a'), at(0))
  const seen = { session_id: 'a', fence: 1 }
  const record = { by: 'me', reason: 'hung', at: 5 }
  const { next = empty, answer } = decideBreak(held, seen, record)
  expect(next).toMatchObject({ claims: [], breaks: [{ ...seen, ...record }] })
  expect(answer).toEqual({ broken: true })
  const back = granted(next, wants('a'), at(1), 9)
  expect(decideBreak(back, seen, record)).toEqual({ answer: { broken: true } })
  expect(decideBreak(back, seen, { ...record, at: 6 }).answer).toEqual({ broken: false, newer: only(back) })
  expect(decideBreak(held, { session_id: 'b', fence: 1 }, record)).toEqual({ answer: { broken: false } })
})

test('releasing a path narrows the claim; a path inside a claimed one cannot be released alone', () => {
  const held = granted(empty, wants('a', { paths: ['src/api', 'src/ui', 'docs'] }), at(0))
  const narrowed = (paths: string[]) => decideRelease(held, { sessionId: 'a', paths }).next?.claims[0]?.paths
  expect(narrowed(['docs'])).toEqual(['src/api', 'src/ui'])
  expect(narrowed(['src'])).toEqual(['docs'])
  expect(narrowed(['**'])).toBeUndefined()
  expect(decideRelease(held, { sessionId: 'a', paths: ['src/api/file'] }).answer.released).toBe(false)
})

test('a path that is released and claimed again is a new grant, and an earlier fence is lost', () => {
  const both = granted(empty, wants('a', { paths: ['docs', 'src'] }), at(0), 1)
  const narrowed = decideRelease(both, { sessionId: 'a', paths: ['src'] }).next ?? both
  expect(checkClaim(narrowed, 'a', 1, at(1))).toBeDefined()
  const again = granted(narrowed, wants('a', { paths: ['src'] }), at(2), 5)
  expect(checkClaim(again, 'a', 1, at(3))).toBeUndefined()
  expect(checkClaim(again, 'a', 5, at(3))).toBeDefined()
  const more = granted(again, wants('a', { paths: ['lib'] }), at(4), 7)
  expect(checkClaim(more, 'a', 5, at(5))).toBeDefined()
})

test('a claim that dead processes of the same session left is granted anew', () => {
  const before = granted(empty, wants('a', { purpose: 'old' }), at(0), 1)
  const dead = at(1, { liveness: lives({ 97: 'dead' }) })
  const claim = only(
    granted(before, wants('a', { holder: identity(5), paths: ['src'], mode: 'shared' }), dead, 2),
  )
  expect(claim).toMatchObject({
    paths: ['src'],
    mode: 'shared',
    purpose: null,
    pid: 5,
    fence: 2,
    first_fence: 2,
  })
  expect(claim.acquired_at).toBe(dead.now.wall)
})

test('a holder with a shorter TTL does not shorten the claim of the others', () => {
  const outer = granted(empty, wants('a', { ttlMs: minute }), at(0))
  const inner = granted(outer, wants('a', { holder: identity(5), ttlMs: 1000 }), at(1))
  expect(only(inner).ttl_ms).toBe(minute)
  const alone = granted(outer, wants('a', { ttlMs: 1000 }), at(1))
  expect(only(alone).ttl_ms).toBe(1000)
  const detached = granted(empty, wants('a', { holder: null, ttlMs: minute }), at(0))
  expect(only(granted(detached, wants('a', { ttlMs: 1000 }), at(1))).ttl_ms).toBe(minute)
})

test('check finds a claim in force that was never lost since the given fence', () => {
  const held = granted(
    granted(empty, wants('a', { paths: ['x'] }), at(0), 5),
    wants('a', { paths: ['y'] }),
    at(0),
    8,
  )
  expect([4, 5, 8, 9].map((fence) => checkClaim(held, 'a', fence, at(1)) !== undefined)).toEqual([
    false,
    true,
    true,
    false,
  ])
  expect(checkClaim(held, 'a', undefined, at(5 * minute + 1))).toBeUndefined()
  expect(checkClaim(held, 'b', undefined, at(1))).toBeUndefined()
})

test('src/api and src/ui can be held at once, but not src; shared claims exclude only exclusive ones', () => {
  const api = granted(empty, wants('a', { paths: ['src/api'] }), at(0))
  const both = granted(api, wants('b', { paths: ['src/ui'] }), at(0))
  expect(isGranted(both, wants('c', { paths: ['src'] }), at(0))).toBe(false)
  expect(isGranted(both, wants('c', { paths: ['**'] }), at(0))).toBe(false)
  expect(isGranted(both, wants('c', { paths: ['src/api/file.ts'] }), at(0))).toBe(false)
  expect(isGranted(both, wants('c', { paths: ['src/apis', 'docs'] }), at(0))).toBe(true)
  const shared = granted(empty, wants('a', { mode: 'shared' }), at(0))
  expect(isGranted(shared, wants('b', { mode: 'shared' }), at(0))).toBe(true)
  expect(isGranted(shared, wants('b'), at(0))).toBe(false)
  expect(isGranted(granted(empty, wants('a'), at(0)), wants('b', { mode: 'shared' }), at(0))).toBe(false)
})

test('an acquire whose swap won and was overtaken still names the claims that it took over', () => {
  const held = granted(empty, wants('a'), at(0))
  const late = at(6 * minute)
  const first = decideAcquire(held, wants('b'), late, 2)
  const again = decideAcquire(first.next ?? held, wants('b'), late, 3, first.answer)
  expect(again.answer).toMatchObject({ granted: true, tookOver: [{ session_id: 'a' }], claim: { fence: 2 } })
  const unrelated = decideAcquire(first.next ?? held, wants('b'), late, 3)
  expect(unrelated.answer).toMatchObject({ granted: true, tookOver: [] })
})
