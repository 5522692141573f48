import { expect, test } from 'vitest'
import type { Claim, ClaimedTarget } from '../../lease/index.ts'
import { judgeClock, setBackSince } from './clock.ts'

const now = Date.UTC(2026, 5, 1)

test.each([
  ['right', now, 0, 'ok'],
  ['before the first stint', 0, 0, 'fail'],
  ['set back since the boot', now, 7_200_000, 'warn'],
])('clock: %s', (_, at, setBackMs, level) => {
  expect(judgeClock(at, setBackMs).level).toBe(level)
})

test('a claim of this boot shows how far the clock was set back; a machine that slept shows nothing', () => {
  const clock = 'boot'
  const target = (wall: number, mono: number, of = clock): ClaimedTarget => ({
    key: '',
    workspace: '',
    claims: [{ clock: of, refreshed_at: 1_000_000, mono: 500 } as Claim],
    waiters: [],
    observation: { now: { wall, mono, clock }, liveness: () => 'alive' },
  })
  expect(setBackSince([])).toBe(0)
  expect(setBackSince([target(1_010_000, 10_500)])).toBe(0)
  expect(setBackSince([target(950_000, 10_500)])).toBe(60_000)
  expect(setBackSince([target(9_000_000, 10_500)])).toBe(0)
  expect(setBackSince([target(950_000, 10_500, 'another boot')])).toBe(0)
})
