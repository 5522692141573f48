import { StintError } from '../errors/stint-error.ts'
import { timerMs } from '../text/duration.ts'

/** The source of "now", so that a test can set the time. */
export interface Clock {
  /** Wall time in milliseconds since the epoch: for records, and for times that must outlive a boot. */
  now(): number
  /** Monotonic milliseconds, shared by all processes of one boot: for ages and deadlines. */
  mono(): number
}

/** The clocks of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // process.hrtime, not `performance`: merely naming that one loads a module for 1.5 ms.
  mono: () => Number(process.hrtime.bigint() / 1000n) / 1000,
}

/** The latest time that a record can carry: its line has room for 15 digits. */
const latestTime = 999_999_999_999_999

/**
 * A clock whose `now` returns whole milliseconds that a record can carry. A machine may be set to a time
 * before 1970, and a program's own clock may return anything: a fraction is cut off, a time out of range
 * becomes the first or the last that is possible, and `ARG_ERROR` refuses a value that is not a time, before
 * it is written.
 */
export const recordClock = (clock: Clock): Clock => ({
  mono: () => clock.mono(),
  now() {
    const time = Math.trunc(Number(clock.now()))
    if (Number.isNaN(time)) throw new StintError('ARG_ERROR', 'the clock of the store did not return a time')
    return Math.min(Math.max(time, 0), latestTime)
  },
})

/** False in Bun, which runs OpenCode's plugins: its monotonic clock starts with each process. */
export const monotonicIsShared = process.versions.bun === undefined

let cell: Int32Array | undefined

/** Blocks this thread, event loop included, for exit handlers and other synchronous code. */
export function sleep(ms: number): void {
  cell ??= new Int32Array(new SharedArrayBuffer(4))
  Atomics.wait(cell, 0, 0, ms)
}

/** Resolves after this many milliseconds. */
export const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, timerMs(ms)))
