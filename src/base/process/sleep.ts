import { timerMs } from '../text/duration.ts'

const cell = new Int32Array(new SharedArrayBuffer(4))

/** Waits without giving way to the event loop: for exit handlers and other synchronous code. */
export function sleep(ms: number): void {
  Atomics.wait(cell, 0, 0, ms)
}

/** Resolves after this many milliseconds. */
export const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, timerMs(ms)))
