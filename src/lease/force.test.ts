import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  at,
  empty,
  granted,
  identity,
  lives,
  minute,
  only,
  running,
  wants,
} from '../../test/support/claim-samples.ts'
import type { Liveness } from '../base/process/liveness.ts'
import { type Claim, maxTtlMs } from './claim.ts'
import { forceOf, isInForce, type Observation, type SessionProcess } from './force.ts'

// DESIGN section 4, line by line: when a claim is in force.

const hour = 60 * minute
/** Granted at 0, until 5 minutes. */
const held = only(granted(empty, wants('a'), at(0)))
const without = { ...held, holders: [] }
const server = running({ isServer: true })
const older = (ageMs: number): SessionProcess => running({ isSinceGrant: false, ageMs })

const works = (...processes: SessionProcess[]): Partial<Observation> => ({ work: () => processes })
const isOver = { isTurnOver: () => true }
const life = (liveness: Liveness): Partial<Observation> => ({ liveness: () => liveness })

/** The claim of a turn that has ended at 2 minutes, so at the latest over at 12. */
const ended: Claim = { ...held, until: 2 * minute, ends: 12 * minute }

const rows: [string, Claim, Observation, boolean][] = [
  // No holders: `now <= until`, and nothing else counts.
  ['without a holder: until', without, at(5 * minute), true],
  ['without a holder: after until', without, at(5 * minute + 1), false],
  ['without a holder: processes do not count', without, at(6 * minute, works(running())), false],
  ['without a holder: an interruption does not count', without, at(1, isOver), true],
  // A living holder: its time.
  ['alive: until', held, at(5 * minute), true],
  ['alive: after until', held, at(5 * minute + 1), false],
  ['unknown is not dead: until', held, at(5 * minute, life('unknown')), true],
  ['unknown is not dead: after until', held, at(5 * minute + 1, life('unknown')), false],
  // A process that the session has started since the grant, for at most two hours past `until`.
  ['alive: a process after until', held, at(6 * minute, works(running())), true],
  ['alive: a process of two hours', held, at(5 * minute + 2 * hour, works(running())), true],
  ['alive: a process of more than two hours', held, at(5 * minute + 2 * hour + 1, works(running())), false],
  ['alive: a server in the middle of a turn', held, at(6 * minute, works(server)), true],
  ['unknown: a process after until', held, at(6 * minute, { ...life('unknown'), ...works(running()) }), true],
  // A process from before the grant counts until ten minutes after its start.
  ['alive: a process from before, 10 minutes old', held, at(6 * minute, works(older(10 * minute))), true],
  ['alive: a process from before, older', held, at(6 * minute, works(older(10 * minute + 1))), false],
  // All holders dead: a process of the session, whether it listens or not, until the first party that asks
  // has waited for ten minutes.
  ['dead', held, at(1, life('dead')), false],
  ['dead with a process', held, at(1, { ...life('dead'), ...works(running()) }), true],
  ['dead with a server', held, at(1, { ...life('dead'), ...works(server) }), true],
  [
    'dead after a command of two hours, which still runs',
    held,
    at(5 * minute + 2 * hour, { ...life('dead'), ...works(running()) }),
    true,
  ],
  [
    'dead after a longer command',
    held,
    at(5 * minute + 2 * hour + 1, { ...life('dead'), ...works(running()) }),
    false,
  ],
  [
    'dead with a process from before, older than 10 minutes',
    held,
    at(1, { ...life('dead'), ...works(older(10 * minute + 1)) }),
    false,
  ],
  ['dead: the transcript does not matter', held, at(1, { ...life('dead'), ...isOver }), false],
  // `ends` is set: until then, while a process that counts still runs.
  ['ended, nothing runs', ended, at(2 * minute), false],
  ['ended, a process', ended, at(12 * minute, works(running())), true],
  ['ended, a process for more than 10 minutes', ended, at(12 * minute + 1, works(running())), false],
  ['ended, a server', ended, at(2 * minute, works(server)), false],
  ['ended, a server and a process', ended, at(2 * minute, works(server, running())), true],
  ['ended, a process from before, 10 minutes old', ended, at(3 * minute, works(older(10 * minute))), true],
  ['ended, a process from before, older', ended, at(3 * minute, works(older(10 * minute + 1))), false],
  ['ended, then dead, a process', ended, at(3 * minute, { ...life('dead'), ...works(running()) }), true],
  ['ended, then dead, a server', ended, at(12 * minute, { ...life('dead'), ...works(server) }), true],
  ['ended, then dead, later', ended, at(12 * minute + 1, { ...life('dead'), ...works(server) }), false],
  // The turn was interrupted.
  ['interrupted', held, at(1, isOver), false],
  ['interrupted, a process', held, at(1, { ...isOver, ...works(running()) }), true],
  ['interrupted, a server', held, at(1, { ...isOver, ...works(server) }), false],
  ['interrupted, of unknown liveness', held, at(1, { ...isOver, ...life('unknown') }), false],
]

test.each(rows)('in force: %s', (_name, claim, observation, expected) => {
  expect(isInForce(claim, observation)).toBe(expected)
})

test('one living or unknown holder of several keeps a claim by its time', () => {
  const both = { ...held, holders: [identity(1), identity(2)] }
  const isHeld = (table: Record<number, Liveness>): boolean =>
    isInForce(both, at(1, { liveness: lives(table) }))
  expect(isHeld({ 1: 'dead', 2: 'alive' })).toBe(true)
  expect(isHeld({ 1: 'dead', 2: 'unknown' })).toBe(true)
  expect(isHeld({ 1: 'dead', 2: 'dead' })).toBe(false)
})

test('what keeps a claim in force is named: its time, or a process and whether a turn has left it', () => {
  expect(forceOf(held, at(minute))).toEqual({ leftMs: 4 * minute, isLeftover: false })
  const make = running()
  expect(forceOf(held, at(6 * minute, works(make)))).toEqual({
    process: make,
    leftMs: 2 * hour - minute,
    isLeftover: false,
  })
  expect(forceOf(ended, at(3 * minute, works(server, make)))).toEqual({
    process: make,
    leftMs: 9 * minute,
    isLeftover: true,
  })
  // A party that asks right after the death of an agent waits for ten minutes at most.
  expect(forceOf(held, at(0, { ...life('dead'), ...works(make) }))).toEqual({
    process: make,
    leftMs: 10 * minute,
    isLeftover: true,
  })
})

test('processes are looked at only if time, liveness and the transcript do not decide, the transcript only of living holders', () => {
  const never = (): never => {
    throw new Error('looked')
  }
  expect(isInForce(without, at(1, { work: never, isTurnOver: never, liveness: never }))).toBe(true)
  expect(isInForce(held, at(1, { work: never }))).toBe(true)
  expect(isInForce(ended, at(13 * minute, { work: never, isTurnOver: never, liveness: never }))).toBe(false)
  expect(isInForce(held, at(1, { ...life('dead'), isTurnOver: never }))).toBe(false)
  expect(isInForce(held, at(3 * hour, { work: never }))).toBe(false)
  // A listening process is searched for only after the end of a turn.
  const unasked: SessionProcess = {
    ...running(),
    get isServer() {
      return never()
    },
  }
  expect(isInForce(held, at(6 * minute, works(unasked)))).toBe(true)
})

const elsewhere = (ms: number, clock = 'boot of a container'): Observation =>
  at(0, { now: { wall: 1e12 + ms, mono: 5, clock } })

test('a claim is judged by its own clock, and by the wall clock if that has another name', () => {
  const jumped = (ms: number): Observation =>
    at(0, { now: { wall: 1e12 + 99 * hour, mono: ms, clock: 'boot' } })
  expect(isInForce(held, jumped(5 * minute))).toBe(true)
  expect(isInForce(held, jumped(5 * minute + 1))).toBe(false)
  expect(isInForce(held, elsewhere(5 * minute))).toBe(true)
  expect(isInForce(held, elsewhere(5 * minute + 1))).toBe(false)
  const leftover = { ...elsewhere(9 * minute), ...works(running()) }
  expect(isInForce({ ...ended, until_wall: 1e12 + 2 * minute }, leftover)).toBe(true)
  const late = { ...elsewhere(12 * minute + 1), ...works(running()) }
  expect(isInForce({ ...ended, until_wall: 1e12 + 2 * minute }, late)).toBe(false)
})

test('a wall clock that was set back by days does not lock a workspace, and one by hours ends no long claim', () => {
  const long = only(granted(empty, wants('a', { forMs: maxTtlMs }), at(0)))
  expect(isInForce(long, elsewhere(-3 * hour))).toBe(true)
  expect(isInForce(long, elsewhere(-48 * hour))).toBe(false)
  expect(isInForce(held, elsewhere(-60 * 24 * hour))).toBe(false)
})

test('no claim lasts for more than 30 days and one, whatever its record says', () => {
  fc.assert(
    fc.property(
      fc.double({ noNaN: true }),
      fc.double({ noNaN: true }),
      fc.boolean(),
      (until, wall, isSame) => {
        const claim = { ...without, until, until_wall: wall, clock: isSame ? 'boot' : 'other' }
        const { leftMs } = forceOf(claim, at(0)) ?? { leftMs: 0 }
        expect(leftMs).toBeLessThanOrEqual(maxTtlMs + 24 * hour)
      },
    ),
  )
})

test('a claim that is over does not come into force again by waiting, whatever still runs', () => {
  const anyLife = fc.constantFrom<Liveness>('alive', 'dead', 'unknown')
  const anyProcess = fc.record({
    ageMs: fc.nat({ max: 3 * hour }),
    isSinceGrant: fc.boolean(),
    isServer: fc.boolean(),
  })
  const anyEnds = fc.option(fc.nat({ max: 3 * hour }), { nil: undefined })
  fc.assert(
    fc.property(
      anyLife,
      fc.array(anyProcess, { maxLength: 3 }),
      anyEnds,
      fc.boolean(),
      fc.nat({ max: 4 * hour }),
      fc.nat({ max: hour }),
      (liveness, processes, ends, isInterrupted, ms, laterMs) => {
        const claim = { ...held, ends }
        const observe = (now: number, age: number): Observation =>
          at(now, {
            ...life(liveness),
            isTurnOver: () => isInterrupted,
            work: () => processes.map((each) => running({ ...each, ageMs: each.ageMs + age })),
          })
        if (!isInForce(claim, observe(ms, 0)))
          expect(isInForce(claim, observe(ms + laterMs, laterMs))).toBe(false)
      },
    ),
  )
})
