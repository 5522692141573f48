import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type EntryFacts, keepIfTooYoung, unprovenAgeMs, decideFate } from './verdict.ts'

const liveness = fc.constantFrom('alive' as const, 'dead' as const, 'unknown' as const)
const candidates: fc.Arbitrary<EntryFacts> = fc.record(
  {
    kind: fc.constantFrom(
      'scratch' as const,
      'owner' as const,
      'output' as const,
      'trash' as const,
      'tracked' as const,
      'session' as const,
      'other' as const,
    ),
    type: fc.constantFrom('directory' as const, 'symlink' as const, 'file' as const),
    sameUser: fc.boolean(),
    changedAt: fc.integer({ min: 0, max: 3 * unprovenAgeMs }),
    owner: fc.record({
      liveness,
      keep: fc.constantFrom('never' as const, 'on-failure' as const, 'always' as const),
      createdAt: fc.nat(),
    }),
    unreadable: fc.boolean(),
    children: fc.array(liveness, { maxLength: 3 }),
    expiresAt: fc.integer({ min: 0, max: 3 * unprovenAgeMs }),
  },
  { requiredKeys: ['kind', 'type', 'sameUser', 'changedAt', 'children'] },
)
const times = fc.integer({ min: 0, max: 3 * unprovenAgeMs })
const isRun = ({ kind }: EntryFacts) => ['scratch', 'owner', 'tracked'].includes(kind)

test('an entry that is foreign, unknown or a link other than an owner record is never removed', () => {
  fc.assert(
    fc.property(candidates, times, (candidate, now) => {
      const mayBeLink = candidate.kind === 'trash' || candidate.kind === 'owner'
      const untouchable =
        !candidate.sameUser || (!mayBeLink && candidate.type === 'symlink') || candidate.kind === 'other'
      if (untouchable) expect(decideFate(candidate, now).remove).toBe(false)
    }),
  )
})

const typeOf: Partial<Record<EntryFacts['kind'], EntryFacts['type']>> = { tracked: 'file', owner: 'symlink' }

test('a run is removed only if its owner and children are dead, or unproven and a day old; never if unreadable', () => {
  fc.assert(
    fc.property(candidates.filter(isRun), times, (candidate, now) => {
      if (!decideFate(candidate, now).remove) return
      expect(candidate.unreadable ?? false).toBe(false)
      expect(candidate.type).toBe(typeOf[candidate.kind] ?? 'directory')
      const all = [candidate.owner?.liveness ?? 'unknown', ...candidate.children]
      expect(candidate.owner?.liveness).not.toBe('alive')
      if (candidate.owner) expect(candidate.children).not.toContain('alive')
      const proven = all.every((each) => each === 'dead')
      if (!proven) expect(now - candidate.changedAt).toBeGreaterThan(unprovenAgeMs)
    }),
  )
})

test('a dead run is always removed, unless its policy is to keep it', () => {
  const dead = { liveness: 'dead' as const, keep: 'never' as const, createdAt: 0 }
  const scratch: EntryFacts = {
    kind: 'scratch',
    type: 'directory',
    sameUser: true,
    changedAt: 5,
    owner: dead,
    children: ['dead'],
  }
  expect(decideFate(scratch, 5)).toEqual({ remove: true, reason: 'owner-dead' })
  expect(decideFate({ ...scratch, owner: { ...dead, keep: 'on-failure' } }, 5)).toEqual({
    remove: false,
    reason: 'kept-on-purpose',
  })
})

test('exactly a day old is not yet old, and exactly at the expiry is not yet expired', () => {
  const base = { type: 'directory', sameUser: true, changedAt: 0, children: [] } as const
  expect(decideFate({ ...base, kind: 'scratch', children: [] }, unprovenAgeMs)).toMatchObject({
    remove: false,
  })
  expect(decideFate({ ...base, kind: 'scratch', children: [] }, unprovenAgeMs + 1)).toMatchObject({
    remove: true,
  })
  expect(decideFate({ ...base, kind: 'output', children: [], expiresAt: 100 }, 100)).toMatchObject({
    remove: false,
  })
  expect(decideFate({ ...base, kind: 'output', children: [], expiresAt: 100 }, 101)).toMatchObject({
    remove: true,
  })
})

test('an output is removed only after its time, and only if its run is over or unproven and a day old', () => {
  fc.assert(
    fc.property(candidates, times, (candidate, now) => {
      const { owner, unreadable = false, children, changedAt, expiresAt } = candidate
      if (candidate.kind !== 'output' || !decideFate(candidate, now).remove) return
      expect(now).toBeGreaterThan(expiresAt ?? Number.POSITIVE_INFINITY)
      expect(unreadable).toBe(false)
      const all = owner === undefined ? [] : [owner.liveness, ...children]
      expect(all).not.toContain('alive')
      if (all.includes('unknown')) expect(now - changedAt).toBeGreaterThan(unprovenAgeMs)
    }),
    { numRuns: 2000 },
  )
})

test('--older-than only narrows what is removed; exactly that age is old enough', () => {
  fc.assert(
    fc.property(candidates, times, fc.option(times, { nil: undefined }), (candidate, now, ageMs) => {
      const given = decideFate(candidate, now)
      const narrowed = keepIfTooYoung(given, candidate.changedAt, now, ageMs)
      const isOld = ageMs === undefined || now - candidate.changedAt >= ageMs
      expect(narrowed).toEqual(given.remove && !isOld ? { remove: false, reason: 'too-young' } : given)
    }),
  )
})

test('a removed session is deleted only if it is a directory of the same user', () => {
  const session: EntryFacts = {
    kind: 'session',
    type: 'directory',
    sameUser: true,
    changedAt: 0,
    children: [],
  }
  expect(decideFate(session, 0)).toEqual({ remove: true, reason: 'removed-session' })
  expect(decideFate({ ...session, type: 'file' }, 0)).toEqual({ remove: false, reason: 'not-stint' })
  expect(decideFate({ ...session, type: 'symlink' }, 0)).toEqual({ remove: false, reason: 'symlink' })
  expect(decideFate({ ...session, sameUser: false }, 0)).toEqual({ remove: false, reason: 'foreign-owner' })
})
