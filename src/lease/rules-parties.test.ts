import fc from 'fast-check'
import { expect, test } from 'vitest'
import { brokenAcquires, type PartyMutation } from '../../test/support/broken-parties.ts'
import {
  anyPaths,
  at,
  empty,
  granted,
  identity,
  isGranted,
  lives,
  minute,
  wants,
} from '../../test/support/claim-samples.ts'
import type { Liveness } from '../base/process/liveness.ts'
import { isInForce, type Observation } from './claim-status.ts'
import type { Descent } from './party.ts'
import {
  type AcquireRequest,
  decideAcquire,
  decideRefresh,
  decideRelease,
  decideYield,
  overlap,
} from './rules.ts'

/** The processes above that of each session: b and c were started by a, d was started by b, e by none. */
const above: Record<string, string> = { a: '', b: 'a', c: 'a', d: 'ba', e: '' }
const sessions = Object.keys(above)

const descentOf = (session: string): Descent => {
  const { pid: _, started: _started, ...machine } = identity(1)
  const processes = Array.from(above[session] ?? '', (each) => identity(each.charCodeAt(0)))
  return { machine, processes, isComplete: true, sessions: [] }
}

const asks = (session: string, more: Partial<AcquireRequest> = {}): AcquireRequest =>
  wants(session, { descent: () => descentOf(session), ...more })

const isAbove = (one: string, two: string): boolean => (above[two] ?? '').includes(one)

test('a party gets what its parent holds, with a claim of its own; its sibling and strangers do not', () => {
  const parent = granted(empty, asks('a'), at(0), 1)
  const both = granted(parent, asks('b'), at(0), 2)
  expect(both.claims).toMatchObject([
    { session_id: 'a', fence: 1 },
    { session_id: 'b', fence: 2, ancestors: ['a'] },
  ])
  expect(isGranted(both, asks('c'), at(0))).toBe(false)
  expect(isGranted(both, asks('e'), at(0))).toBe(false)
  const three = granted(both, asks('d'), at(0), 3)
  expect(three.claims[2]).toMatchObject({ session_id: 'd', ancestors: ['b', 'a'] })
  expect(isGranted(three, asks('a'), at(1)) && isGranted(three, asks('b'), at(1))).toBe(true)
})

test('a party that counts as its parent is in the way of neither the parent nor its other children', () => {
  const server = asks('c', { parent: 'a', asParent: true })
  const first = granted(empty, server, at(0), 1)
  expect(first.claims).toMatchObject([{ session_id: 'c', ancestors: ['a'], as_parent: true }])
  const three = granted(granted(first, asks('a'), at(0), 2), asks('b'), at(0), 3)
  expect(three.claims).toHaveLength(3)
  expect(isGranted(three, server, at(1))).toBe(true)
  expect(isGranted(first, asks('e'), at(0))).toBe(false)
  // Without it, the two children of one session exclude each other.
  expect(
    isGranted(granted(empty, asks('b', { parent: 'a' }), at(0), 1), asks('c', { parent: 'a' }), at(0)),
  ).toBe(false)
})

test('the end of a party releases only its own claim, and its child stays its child', () => {
  const three = ['a', 'b', 'd'].reduce((claims, session) => granted(claims, asks(session), at(0)), empty)
  const without = (session: string) => decideRelease(three, { sessionId: session }).next ?? empty
  expect(without('b').claims.map(({ session_id }) => session_id)).toEqual(['a', 'd'])
  expect(isGranted(without('b'), asks('b'), at(1))).toBe(true)
  expect(isGranted(without('b'), asks('a'), at(1))).toBe(true)
  expect(isGranted(without('b'), asks('c'), at(1))).toBe(false)
  expect(isGranted(without('a'), asks('e'), at(1))).toBe(false)
})

test('where a party comes from is asked only if another claim stands', () => {
  const never = () => {
    throw new Error('asked')
  }
  const held = granted(empty, asks('b', { descent: never, paths: ['x'] }), at(0))
  const again = granted(held, asks('b', { descent: never }), at(1))
  expect(() => granted(again, asks('c', { descent: never }), at(1))).toThrow('asked')
  const beside = granted(held, asks('e', { paths: ['y'] }), at(1))
  expect(isGranted(beside, asks('b', { descent: never, paths: ['x', 'z'] }), at(2))).toBe(true)
})

test('a session that goes on under another id keeps its children', () => {
  const both = granted(granted(empty, asks('a'), at(0)), asks('b'), at(0))
  const renamed = granted(both, wants('n', { renamedFrom: 'a', holder: identity(97) }), at(1))
  expect(renamed.claims).toMatchObject([{ session_id: 'b', ancestors: ['n'] }, { session_id: 'n' }])
})

test('a claim on a directory above or below conflicts by the same rule', () => {
  const outer = granted(empty, asks('a'), at(0))
  const inside = (session: string) => ({ session_id: session, paths: ['sub'], mode: 'exclusive' as const })
  const look = (session: string) =>
    decideYield(outer, inside(session), at(1), () => descentOf(session)).answer
  expect(look('b')).toEqual({ ancestors: ['a'] })
  expect(look('e').by).toMatchObject({ session_id: 'a' })
  const { answer } = decideYield(outer, { ...inside('x'), ancestors: ['a'] }, at(1), undefined)
  expect(answer).toEqual({})
})

const session = fc.constantFrom(...sessions)
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('acquire' as const),
      session,
      paths: anyPaths,
      mode: fc.constantFrom('exclusive' as const, 'shared' as const),
      call: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('refresh' as const, 'release' as const), session }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('narrow' as const), session, paths: anyPaths }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat({ max: 10 * minute }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('die' as const), session }) },
)

/** Runs sequences of requests of parties; returns one after which a rule is broken. */
function searchSequences(acquire: typeof decideAcquire, numRuns: number): unknown {
  const property = fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
    let claims = empty
    let now = 0
    let epoch = 0
    const dead: Record<number, Liveness> = {}
    const observation = (): Observation => at(now, { liveness: lives(dead) })
    const request = (wanted: Extract<(typeof steps)[number], { session: string }>) => {
      const { session: sessionId } = wanted
      if (wanted.do === 'narrow') return decideRelease(claims, { sessionId, paths: wanted.paths })
      if (wanted.do !== 'acquire')
        return wanted.do === 'release'
          ? decideRelease(claims, { sessionId })
          : decideRefresh(claims, { sessionId }, observation())
      const call = wanted.call ? { id: 'x' } : undefined
      const asked = asks(sessionId, { paths: wanted.paths, mode: wanted.mode, call })
      const decision = acquire(claims, asked, observation(), epoch + 1)
      const { answer } = decision
      if (!answer.granted) expect(isAbove(answer.by.session_id, sessionId)).toBe(false)
      return decision
    }
    for (const each of steps) {
      if (each.do === 'wait') now += each.ms
      else if (each.do === 'die') dead[each.session.charCodeAt(0)] = 'dead'
      else {
        const before = claims
        claims = request(each).next ?? claims
        epoch += 1
        for (const other of before.claims.filter(({ session_id }) => session_id !== each.session)) {
          if (isInForce(other, observation())) expect(claims.claims).toContain(other)
        }
      }
      const inForce = claims.claims.filter((claim) => isInForce(claim, observation()))
      for (const [i, one] of inForce.entries()) {
        for (const two of inForce.slice(i + 1)) {
          const related = isAbove(one.session_id, two.session_id) || isAbove(two.session_id, one.session_id)
          expect(overlap(one, two) && !related).toBe(false)
        }
      }
      expect(new Set(claims.claims.map(({ session_id }) => session_id)).size).toBe(claims.claims.length)
    }
  })
  return fc.check(property, { numRuns }).counterexample
}

test('no sequence of requests makes two claims in force conflict, or changes a claim in force of another session', () => {
  expect(searchSequences(decideAcquire, 500)).toBeNull()
})

test.each(Object.keys(brokenAcquires) as PartyMutation[])('the search finds %s', (mutation) => {
  expect(searchSequences(brokenAcquires[mutation], 5000)).not.toBeNull()
})
