/** Where "now" comes from, so that a test can say what time it is. */
export interface Clock {
  /** Wall time, milliseconds since the epoch: for records and for what must outlive a boot. */
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

/** Not in Bun, which OpenCode's plugins run in: there it begins with each process, and ages between processes are told by the wall. */
export const monotonicIsShared = process.versions.bun === undefined
