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
