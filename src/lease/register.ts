/**
 * A compare-and-swap register: the one thing a lease needs from whatever keeps it. Each key has one text, and each change
 * of it a higher number, its epoch.
 *
 * A driver writes its operations as generators that yield steps (file-system calls, queries) and carries each step out in `perform`, and, if
 * it can do so without waiting, in `performSync`. The same code then runs synchronously (hooks, exit handlers), asynchronously, and
 * under the test suite's explorer, which decides itself in which order the steps of several writers happen.
 */
export interface Register<Step = unknown> {
  /** If it is kept where other machines see it, too: as what all of them know a workspace, which has another path on each. */
  readonly shared?: { nameWorkspace: (path: string) => { key: string; name: string } }
  /**
   * What the key holds now. It is the truth at some moment during the call. `known` is what an earlier read or swap has shown: if it is
   * still that, a driver may save itself the trouble of making sure.
   */
  read(key: string, known?: RegisterEntry): Steps<Step, RegisterEntry>
  /**
   * Replaces the text if the epoch is still the expected one; returns the new epoch. `undefined` means: lost, or won and already
   * overtaken. Read again: what is found there is true, and a transition that is idempotent can simply be tried again. No two swaps may write
   * the same text: by its text an epoch is known again.
   */
  swap(key: string, expectedEpoch: number, text: string): Steps<Step, number | undefined>
  /** When the newest text was written, in milliseconds since the epoch. Asked only for texts that make no sense. */
  writtenAt(key: string): Steps<Step, number | undefined>
  /** All keys that were ever written. */
  keys(): Steps<Step, string[]>
  /** The register's own clock: it decides expiry. `key`: what for; a driver may know it from a read of that key just now. */
  now(key?: string): Steps<Step, Now>
  perform(step: Step): Promise<unknown>
  performSync?(step: Step): unknown
  /** Where a person finds it. */
  locate?(key: string, epoch: number): string
  /** Calls back when the key may have changed; returns how to stop. Only ever a hint. */
  watch?(key: string, onChange: () => void): () => void
}

/** What a register holds for a key. Epoch 0 and no text: nothing was ever written. */
export interface RegisterEntry {
  epoch: number
  text: string | undefined
}

export interface Now {
  /** Milliseconds since the epoch. */
  wall: number
  /** Monotonic milliseconds; comparable only between equal `clock`s. */
  mono: number
  /** Names the monotonic clock: one boot of one machine. */
  clock: string
  /** While this stays the same, nothing that was written can have been lost. By default this machine's boot. */
  era?: string
}

export type Steps<Step, Result> = Generator<Step, Result, unknown>

/** Runs steps to their end without giving way. */
export function runSync<Step, Result>(register: Register<Step>, steps: Steps<Step, Result>): Result {
  if (register.performSync === undefined) throw new TypeError('this register has no synchronous form')
  let at = steps.next()
  while (!at.done) {
    let answer: unknown
    try {
      answer = register.performSync(at.value)
    } catch (error) {
      at = steps.throw(error)
      continue
    }
    at = steps.next(answer)
  }
  return at.value
}

/** Runs steps to their end, awaiting each one. */
export async function runAsync<Step, Result>(
  register: Register<Step>,
  steps: Steps<Step, Result>,
): Promise<Result> {
  let at = steps.next()
  while (!at.done) {
    let answer: unknown
    try {
      answer = await register.perform(at.value)
    } catch (error) {
      at = steps.throw(error)
      continue
    }
    at = steps.next(answer)
  }
  return at.value
}

/** The operations of a register as synchronous functions. Throws a `TypeError` if the driver has no `performSync`. */
export const syncRegister = <Step>(register: Register<Step>) => ({
  read: (key: string, known?: RegisterEntry) => runSync(register, register.read(key, known)),
  swap: (key: string, expectedEpoch: number, text: string) =>
    runSync(register, register.swap(key, expectedEpoch, text)),
  writtenAt: (key: string) => runSync(register, register.writtenAt(key)),
  keys: () => runSync(register, register.keys()),
  now: (key?: string) => runSync(register, register.now(key)),
})

/** The operations of a register as asynchronous functions. */
export const asyncRegister = <Step>(register: Register<Step>) => ({
  read: (key: string, known?: RegisterEntry) => runAsync(register, register.read(key, known)),
  swap: (key: string, expectedEpoch: number, text: string) =>
    runAsync(register, register.swap(key, expectedEpoch, text)),
  writtenAt: (key: string) => runAsync(register, register.writtenAt(key)),
  keys: () => runAsync(register, register.keys()),
  now: (key?: string) => runAsync(register, register.now(key)),
})
