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
  running,
  wants,
} from '../../test/support/claim-samples.ts'
import { type ClaimsRecord, maxTtlMs } from './claim.ts'
import { isInForce, type Observation } from './force.ts'
import { checkClaim, decideBreak, decideEndTurn, decideRelease, decideRenew } from './own-claims.ts'
import { type AcquireRequest, decideAcquire } from './rules.ts'

test('a free workspace is granted, with a fence', () => {
  expect(only(granted(empty, wants('a'), at(0), 7))).toMatchObject({
    session_id: 'a',
    holders: [{ pid: 97 }],
    acquired_at: 1e12,
    clock: 'boot',
    until: 300_000,
    until_wall: 1e12 + 300_000,
    fence: 7,
    first_fence: 7,
    paths: ['**'],
    mode: 'exclusive',
  })
})

test('a fresh claim of another session refuses, with its holder and when to retry', () => {
  const held = granted(empty, wants('a', { purpose: 'testing' }), at(0))
  const { answer, next } = decideAcquire(held, wants('b'), at(minute), 2)
  expect(next).toBeUndefined()
  expect(answer).toMatchObject({
    granted: false,
    by: { session_id: 'a', purpose: 'testing' },
    retryAfterMs: 3000,
  })
  expect(decideAcquire(held, wants('b'), at(5 * minute - 9), 2).answer).toMatchObject({ retryAfterMs: 10 })
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
  expect(again).toMatchObject({
    fence: 1,
    first_fence: 1,
    paths: ['src'],
    until: 6 * minute,
    acquired_at: 1e12,
  })
  const wider = only(granted(held, wants('a', { paths: ['docs'] }), at(minute), 3))
  expect(wider).toMatchObject({ fence: 3, first_fence: 1, paths: ['docs', 'src'] })
  const stronger = granted(empty, wants('a', { mode: 'shared' }), at(0), 1)
  expect(only(granted(stronger, wants('a'), at(0), 4))).toMatchObject({ fence: 4, mode: 'exclusive' })
  expect(only(granted(stronger, wants('a', { mode: 'shared' }), at(0), 4))).toMatchObject({
    fence: 1,
    mode: 'shared',
  })
})

test('a claim outlives a holder that dies or leaves, and ends with the last one', () => {
  const both = granted(granted(empty, wants('a'), at(0)), wants('a', { holder: identity(200) }), at(0))
  expect(only(both).holders.map(({ pid }) => pid)).toEqual([97, 200])
  expect(isGranted(both, wants('b'), at(1, { liveness: lives({ 97: 'dead' }) }))).toBe(false)
  expect(isGranted(both, wants('b'), at(1, { liveness: lives({ 97: 'dead', 200: 'dead' }) }))).toBe(true)
  const one = decideRelease(both, { sessionId: 'a', holders: [identity(97)] })
  expect(one.answer).toMatchObject({ released: true, left: { holders: [{ pid: 200 }] } })
  expect(decideRelease(one.next ?? empty, { sessionId: 'a', holders: [identity(200)] }).next?.claims).toEqual(
    [],
  )
})

test('a claim without a process ends by its time alone, even after a process has joined and left it', () => {
  const detached = granted(empty, wants('a', { holder: null }), at(0))
  expect(only(detached).holders).toEqual([])
  const joined = granted(detached, wants('a', { holder: identity(5) }), at(0))
  expect(isGranted(joined, wants('b'), at(1, { liveness: () => 'dead' }))).toBe(false)
  expect(decideRelease(joined, { sessionId: 'a', holders: [identity(5)] }).answer.released).toBe(false)
  expect(isGranted(joined, wants('b'), at(5 * minute))).toBe(false)
  expect(isGranted(joined, wants('b'), at(5 * minute + 1))).toBe(true)
})

test('a claim moves to a new session id only if the host says so and the process is the same', () => {
  const held = granted(empty, wants('a'), at(0), 1)
  const renamed = wants('n', { renamedFrom: 'a', holder: identity(97) })
  expect(only(granted(held, renamed, at(1), 2))).toMatchObject({ session_id: 'n', fence: 1 })
  expect(isGranted(held, wants('n', { holder: identity(97) }), at(1))).toBe(false)
  expect(isGranted(held, wants('n', { renamedFrom: 'a', holder: identity(98) }), at(1))).toBe(false)
})

test('renewal and release act only for the owner, and report when they do nothing', () => {
  const held = granted(empty, wants('a'), at(0))
  const renew = (more: object) => decideRenew(held, { sessionId: 'a', forMs: minute, ...more }, at(minute))
  expect(renew({ sessionId: 'b' })).toEqual({ answer: {} })
  expect(decideRelease(held, { sessionId: 'b' })).toEqual({ answer: { released: false } })
  expect(renew({ firstFence: 9 }).answer.claim).toBeUndefined()
  expect(renew({ holder: identity(5) }).answer.claim).toBeUndefined()
  expect(decideRelease(held, { sessionId: 'a', firstFence: 9 }).answer.released).toBe(false)
  expect(renew({}).answer.claim).toMatchObject({ until: 2 * minute, until_wall: 1e12 + 2 * minute, fence: 1 })
  expect(renew({ holder: identity(97), joining: identity(5) }).answer.claim?.holders).toHaveLength(2)
  expect(decideRelease(held, { sessionId: 'a' }).next?.claims).toEqual([])
})

test('a broken claim is recorded once, with who did it and why; a claim with another fence is left alone', () => {
  const held = granted(empty, wants('a'), at(0))
  const seen = { session_id: 'a', fence: 1 }
  const record = { by: 'me', reason: 'hung', at: 5 }
  const { next = empty, answer } = decideBreak(held, seen, record)
  expect(next).toMatchObject({ claims: [], breaks: [{ ...seen, ...record }] })
  expect(answer).toBe(true)
  const back = granted(next, wants('a'), at(1), 9)
  expect(decideBreak(back, seen, record)).toEqual({ answer: true })
  expect(decideBreak(back, seen, { ...record, at: 6 }).answer).toBe(false)
  expect(decideBreak(held, { session_id: 'b', fence: 1 }, record)).toEqual({ answer: false })
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
    holders: [{ pid: 5 }],
    fence: 2,
    first_fence: 2,
  })
  expect(claim.purpose).toBeUndefined()
  expect(claim.acquired_at).toBe(dead.now.wall)
})

test('a request for a shorter time does not shorten a claim; a renewal does', () => {
  const held = granted(empty, wants('a'), at(0))
  expect(only(granted(held, wants('a', { forMs: 1000 }), at(1))).until).toBe(5 * minute)
  expect(decideRenew(held, { sessionId: 'a', forMs: 1000 }, at(1)).answer.claim?.until).toBe(1001)
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

// The end of a turn, and what it leaves behind.

const endTurn = (
  record: ClaimsRecord,
  observation: Observation,
  hold: 'turn' | 'session' = 'turn',
): ClaimsRecord =>
  decideEndTurn(record, { sessionId: 'a', holder: identity(97), hold }, observation).next ?? record

const works = (...processes: ReturnType<typeof running>[]): Partial<Observation> => ({
  work: () => processes,
})

test('the end of a turn releases the claim, and remembers whose it was', () => {
  const held = granted(empty, wants('a'), at(0))
  expect(endTurn(held, at(1))).toMatchObject({ claims: [], last: 'a' })
  expect(decideEndTurn(held, { sessionId: 'b', holder: identity(98), hold: 'turn' }, at(1))).toEqual({
    answer: undefined,
  })
  expect(decideEndTurn(held, { sessionId: 'a', hold: 'turn' }, at(1)).next?.claims).toEqual([])
  expect(granted(endTurn(held, at(1)), wants('b'), at(1)).last).toBeUndefined()
})

test('the end of a turn leaves a claim for ten minutes while its processes run, but not for a server', () => {
  const held = granted(empty, wants('a'), at(0))
  const ended = endTurn(held, at(minute, works(running())))
  expect(only(ended)).toMatchObject({ until: minute, ends: 11 * minute, fence: 1 })
  expect(isGranted(ended, wants('b'), at(11 * minute, works(running())))).toBe(false)
  expect(isGranted(ended, wants('b'), at(11 * minute + 1, works(running())))).toBe(true)
  expect(isGranted(ended, wants('b'), at(2 * minute))).toBe(true)
  expect(endTurn(held, at(minute, works(running({ isServer: true })))).claims).toEqual([])
  // A second end of the turn does not begin the ten minutes again.
  expect(only(endTurn(ended, at(5 * minute, works(running()))))).toMatchObject({ ends: 11 * minute })
})

test('the first call of the next turn is a new grant, and a process from before counts for it only once', () => {
  const ended = endTurn(granted(empty, wants('a'), at(0)), at(minute, works(running())))
  const { answer } = decideAcquire(ended, wants('a'), at(2 * minute, works(running())), 9)
  expect(answer).toMatchObject({
    granted: true,
    isNew: true,
    tookOver: [],
    claim: { fence: 9, first_fence: 9, acquired_at: 1e12 + 2 * minute, until: 7 * minute },
  })
  const next = granted(ended, wants('a'), at(2 * minute), 9)
  expect(only(next).ends).toBeUndefined()
  const before = (ageMs: number) => works(running({ isSinceGrant: false, ageMs }))
  expect(only(endTurn(next, at(3 * minute, before(3 * minute)))).ends).toBe(13 * minute)
  expect(endTurn(next, at(3 * minute, before(10 * minute + 1))).claims).toEqual([])
})

test('a renewal does not bring back a claim whose turn has ended', () => {
  const ended = endTurn(granted(empty, wants('a'), at(0)), at(minute, works(running())))
  expect(decideRenew(ended, { sessionId: 'a', forMs: minute }, at(2 * minute))).toEqual({ answer: {} })
})

test('another program that shares the claim keeps it at the end of a turn', () => {
  const both = granted(granted(empty, wants('a'), at(0)), wants('a', { holder: identity(5) }), at(0))
  expect(only(endTurn(both, at(1))).holders).toMatchObject([{ pid: 5 }])
})

test('with --hold session the end of a turn keeps the claim while the agent lives', () => {
  const origin = () => ({ agent: 'Claude Code', transcript: { path: '/t', size: 1 } })
  const kept = endTurn(granted(empty, wants('a', { origin }), at(0)), at(minute), 'session')
  expect(only(kept)).toMatchObject({ until: minute + maxTtlMs, origin: { agent: 'Claude Code' } })
  // An interruption between turns, or of a turn without a call, ends nothing.
  expect(only(kept).origin?.transcript).toBeUndefined()
  expect(isGranted(kept, wants('b'), at(24 * 60 * minute))).toBe(false)
  expect(isGranted(kept, wants('b'), at(2 * minute, { liveness: lives({ 97: 'dead' }) }))).toBe(true)
})

// What the first party that is refused sets in motion.

test('the first refusal after the death of an agent limits its processes to ten minutes', () => {
  const held = granted(empty, wants('a', { forMs: 30 * minute }), at(0))
  const dead = { liveness: lives({ 97: 'dead' }), ...works(running({ isServer: true })) }
  const { next = empty, answer } = decideAcquire(held, wants('b'), at(minute, dead), 2)
  expect(answer.granted).toBe(false)
  expect(only(next)).toMatchObject({ until: minute, ends: 11 * minute })
  // A second refusal does not prolong it, and a server counts as before.
  expect(decideAcquire(next, wants('b'), at(5 * minute, dead), 3).next).toBeUndefined()
  expect(isGranted(next, wants('b'), at(11 * minute, dead))).toBe(false)
  expect(isGranted(next, wants('b'), at(11 * minute + 1, dead))).toBe(true)
})

test('the first refusal after an interrupted turn limits its processes to ten minutes', () => {
  const held = granted(empty, wants('a', { forMs: 30 * minute }), at(0))
  const interrupted = { isTurnOver: () => true, ...works(running()) }
  const { next = empty } = decideAcquire(held, wants('b'), at(minute, interrupted), 2)
  expect(only(next)).toMatchObject({ until: minute, ends: 11 * minute })
  expect(decideAcquire(next, wants('b'), at(5 * minute, interrupted), 3).next).toBeUndefined()
  expect(isGranted(next, wants('b'), at(11 * minute + 1, works(running())))).toBe(true)
})

// Two windows with one session id.

const window = (pid: number, more: Partial<AcquireRequest> = {}): AcquireRequest =>
  wants('a', { holder: identity(pid), isOneProcess: true, ...more })
const parties = ({ claims }: ClaimsRecord): string[] => claims.map(({ session_id }) => session_id)

test('a second living process with a session id is another party, and is refused', () => {
  const first = granted(empty, window(1, { paths: ['x'] }), at(0))
  expect(isGranted(first, window(2, { paths: ['x'] }), at(1))).toBe(false)
  const both = granted(first, window(2, { paths: ['y'] }), at(1))
  expect(parties(both)).toEqual(['a', 'a@2'])
  expect(parties(granted(both, window(2, { paths: ['y'] }), at(2)))).toEqual(['a', 'a@2'])
  const unknown = at(1, { liveness: lives({ 1: 'unknown' }) })
  expect(isGranted(first, window(2, { paths: ['x'] }), unknown)).toBe(false)
})

test('the second process keeps its own claim when the first has released', () => {
  const both = granted(granted(empty, window(1, { paths: ['x'] }), at(0)), window(2, { paths: ['y'] }), at(1))
  const alone = decideRelease(both, { sessionId: 'a', holder: identity(1) }).next ?? both
  expect(parties(alone)).toEqual(['a@2'])
  const more = granted(alone, window(2, { paths: ['y', 'z'] }), at(2))
  expect(parties(more)).toEqual(['a@2'])
  expect(only(more).paths).toEqual(['y', 'z'])
})

test('when the first process is dead, the second goes on with its id', () => {
  const first = granted(empty, window(1), at(0))
  const dead = at(1, { liveness: lives({ 1: 'dead' }) })
  expect(only(granted(first, window(2), dead))).toMatchObject({ session_id: 'a', holders: [{ pid: 2 }] })
})

test('the end of a turn of one window leaves the claim of the other', () => {
  const both = granted(granted(empty, window(1, { paths: ['x'] }), at(0)), window(2, { paths: ['y'] }), at(1))
  const ended = (pid: number) =>
    decideEndTurn(both, { sessionId: 'a', holder: identity(pid), hold: 'turn' }, at(2)).next ?? both
  expect(parties(ended(1))).toEqual(['a@2'])
  expect(parties(ended(2))).toEqual(['a'])
})

test('a host whose one process serves several sessions keeps their ids', () => {
  const first = granted(empty, wants('a', { paths: ['x'] }), at(0))
  const joined = granted(first, wants('a', { holder: identity(2), paths: ['x'] }), at(1))
  expect(only(joined)).toMatchObject({ session_id: 'a', holders: [{ pid: 97 }, { pid: 2 }] })
})

// The place outside of repositories.

test('outside of repositories a session has a claim for each path, and overlapping trees conflict', () => {
  const plan = granted(empty, wants('a', { paths: ['/home/plan.md'] }), at(0), 1)
  const both = granted(plan, wants('a', { paths: ['/srv/app'] }), at(minute), 2)
  expect(both.claims).toMatchObject([
    { paths: ['/home/plan.md'], fence: 1 },
    { paths: ['/srv/app'], fence: 2 },
  ])
  expect(isGranted(both, wants('b', { paths: ['/srv/app/sub'] }), at(minute))).toBe(false)
  expect(isGranted(both, wants('b', { paths: ['/srv'] }), at(minute))).toBe(false)
  expect(isGranted(both, wants('b', { paths: ['**'] }), at(minute))).toBe(false)
  expect(isGranted(both, wants('b', { paths: ['/srv/apps', '/home/notes'] }), at(minute))).toBe(true)
  // A tree above one's own claim is not in its way, and asking again is no new grant.
  expect(isGranted(both, wants('a', { paths: ['/srv'] }), at(minute))).toBe(true)
  expect(decideAcquire(both, wants('a', { paths: ['/srv/app'] }), at(minute), 3).answer).toMatchObject({
    isNew: false,
    claim: { fence: 2 },
  })
})

test('an event of a session renews, ends and releases all its claims outside of repositories', () => {
  const both = granted(
    granted(empty, wants('a', { paths: ['/x'] }), at(0)),
    wants('a', { paths: ['/y'] }),
    at(0),
  )
  const renewed = decideRenew(both, { sessionId: 'a', forMs: minute }, at(minute)).next ?? empty
  expect(renewed.claims.map(({ until }) => until)).toEqual([2 * minute, 2 * minute])
  expect(endTurn(both, at(1)).claims).toEqual([])
  expect(decideRelease(both, { sessionId: 'a' }).next?.claims).toEqual([])
  expect(decideRelease(both, { sessionId: 'a', paths: ['/x'] }).next?.claims).toMatchObject([
    { paths: ['/y'] },
  ])
})

test('a grant removes what is over, so no claim comes back beside it', () => {
  const held = granted(empty, wants('a'), at(0))
  const { next = empty, answer } = decideAcquire(held, wants('b'), at(5 * minute + 1), 2)
  expect(answer).toMatchObject({ granted: true, isNew: true, tookOver: [{ session_id: 'a' }] })
  expect(parties(next)).toEqual(['b'])
  expect(decideRenew(next, { sessionId: 'a', forMs: minute }, at(6 * minute)).answer.claim).toBeUndefined()
  expect(next.claims.every((claim) => isInForce(claim, at(5 * minute + 1)))).toBe(true)
})
