import type { Now } from '../../src/lease/register.ts'

/** The clocks of the explorer's machine. */
export interface Clock {
  mono: number
  /** Of the wall clock from the monotonic one, in milliseconds. */
  offset: number
  ticksLeft: number
  jumpsLeft: number
}

const jumpMs = 5 * 3_600_000
const startedAt = 1_700_000_000_000

export const nowOn = ({ mono, offset }: Clock, clock: string): Now => ({
  wall: startedAt + mono + offset,
  mono,
  clock,
})

/**
 * All times that a session may find at its next look at the clocks. Clocks need to move only just before a
 * look: steps without one do not depend on the time, and no claim becomes fresh by waiting.
 */
export function timesFrom(clock: Clock, tickMs: number): Clock[] {
  const all: Clock[] = []
  for (let ticks = 0; ticks <= clock.ticksLeft; ticks++) {
    const mono = clock.mono + ticks * tickMs
    const ticksLeft = clock.ticksLeft - ticks
    all.push({ ...clock, mono, ticksLeft })
    if (clock.jumpsLeft === 0) continue
    const jumpsLeft = clock.jumpsLeft - 1
    for (const jump of [-jumpMs, jumpMs])
      all.push({ mono, offset: clock.offset + jump, ticksLeft, jumpsLeft })
  }
  return all
}

export const describeClock = ({ mono, offset }: Clock): string =>
  `${mono / 1000} s${offset === 0 ? '' : `, wall ${offset / 3_600_000} h off`}`
