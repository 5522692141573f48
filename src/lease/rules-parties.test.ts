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
  running,
  wants,
} from '../../test/support/claim-samples.ts'
import type { Liveness } from '../base/process/liveness.ts'
import { isInForce, type Observation } from './force.ts'
import type { Claim } from './claim.ts'
import type { Descent } from './party.ts'
import { decideEndTurn, decideRelease, decideRenew } from './own-claims.ts'
import { type AcquireRequest, decideAcquire, overlap } from './rules.ts'

/** The processes above that of each session: b and c were started by a, d was started by b, e by none. */
const above: Record<string, string> = { a: '', b: 'a', c: 'a', d: 'ba', e: '' }
const sessions = Object.keys(above)

const descentOf = (session: string): Descent => {
  const { pid: _, started: _started, ...machine } = identity(1)
  const processes = Array.from(above[session] ?? '', (each) => identity(each.charCodeAt(0)))
  return { machine, processes, isComplete: true, sessions: [], variables: [] }
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

const session = fc.constantFrom(...sessions)
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('acquire' as const),
      session,
      paths: anyPaths,
      mode: fc.constantFrom('exclusive' as const, 'shared' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('renew' as const, 'release' as const, 'end turn' as const),
      session,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('narrow' as const), session, paths: anyPaths }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat({ max: 10 * minute }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('die' as const, 'be interrupted' as const, 'start a command' as const),
      session,
    }),
  },
)

/** Runs sequences of requests of parties; returns one after which a rule is broken. */
function searchSequences(acquire: typeof decideAcquire, numRuns: number): unknown {
  const property = fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
    let claims = empty
    let now = 0
    let epoch = 0
    const dead: Record<number, Liveness> = {}
    const interrupted = new Set<string>()
    const commands = new Map<string, number>()
    const observation = (): Observation =>
      at(now, {
        liveness: lives(dead),
        isTurnOver: ({ session_id }) => interrupted.has(session_id),
        work({ session_id, acquired_at }) {
          const since = commands.get(session_id)
          const isSinceGrant = 1e12 + (since ?? 0) >= acquired_at
          return since === undefined ? [] : [running({ isSinceGrant, ageMs: now - since })]
        },
      })
    // A refusal limits the time of the processes that these have left.
    const isInterruptedOrDead = ({ session_id, holders }: Claim): boolean =>
      interrupted.has(session_id) || holders.every(({ pid }) => dead[pid] === 'dead')
    const request = (wanted: Extract<(typeof steps)[number], { session: string }>) => {
      const { session: sessionId } = wanted
      if (wanted.do === 'narrow') return decideRelease(claims, { sessionId, paths: wanted.paths })
      if (wanted.do === 'release') return decideRelease(claims, { sessionId })
      if (wanted.do === 'end turn') return decideEndTurn(claims, { sessionId, hold: 'turn' }, observation())
      // A prompt follows an interruption before the session does anything else.
      interrupted.delete(sessionId)
      if (wanted.do !== 'acquire') return decideRenew(claims, { sessionId, forMs: 5 * minute }, observation())
      const asked = asks(sessionId, { paths: wanted.paths, mode: wanted.mode })
      const decision = acquire(claims, asked, observation(), epoch + 1)
      const { answer } = decision
      if (!answer.granted) expect(isAbove(answer.by.session_id, sessionId)).toBe(false)
      return decision
    }
    for (const each of steps) {
      if (each.do === 'wait') now += each.ms
      else if (each.do === 'die') dead[each.session.charCodeAt(0)] = 'dead'
      else if (each.do === 'be interrupted') interrupted.add(each.session)
      else if (each.do === 'start a command') commands.set(each.session, now)
      else {
        const before = claims
        claims = request(each).next ?? claims
        epoch += 1
        for (const other of before.claims.filter(({ session_id }) => session_id !== each.session)) {
          if (isInForce(other, observation()) && !isInterruptedOrDead(other))
            expect(claims.claims).toContain(other)
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
