/**
 * A compare-and-swap register: all that leases need from the medium that keeps them. Each key has one text,
 * and each change gives it a higher number, its epoch.
 *
 * A driver writes its operations as generators that yield steps (file-system calls, queries), and carries
 * each step out in `perform` and, if it can without waiting, in `performSync`. The same code then runs
 * synchronously (in hooks and exit handlers), asynchronously, and under the test suite's explorer, which
 * orders the steps of several writers itself.
 */
export interface StepRegister<Step = unknown> {
  /** Set if other machines share this register: names a workspace independently of its local path. */
  readonly shared?: { nameWorkspace: (path: string) => { key: string; name: string } }
  /**
   * Returns what the key holds at some moment during the call. `known` is the result of an earlier read or
   * swap: a driver that can tell cheaply that it is still current may return it.
   */
  read(key: string, known?: StepEntry): Steps<Step, StepEntry>
  /**
   * Replaces `before`, which a read has returned, by a text with the next epoch; returns that epoch.
   * Undefined means that the swap was lost, or that it won and was overtaken: the caller reads again, and can
   * repeat a change that is idempotent. No two swaps may write the same text, as a driver recognises an epoch
   * by its text. Of several swaps that write the first text of a key, one wins, even if their epochs differ.
   */
  swap(key: string, before: StepEntry, text: string): Steps<Step, number | undefined>
  /** Deletes all there is of a key, if its entry is still `before`. Without it, `locks` cannot be swept. */
  remove?(key: string, before: StepEntry): Steps<Step, boolean>
  /**
   * When the newest text was written, in milliseconds since the epoch. `epoch` is that of the text as the
   * caller knows it: a driver may answer for this one, if it still exists.
   */
  writtenAt(key: string, epoch?: number): Steps<Step, number | undefined>
  /** All keys that have a text. */
  keys(): Steps<Step, string[]>
  /** The register's clock, which decides expiry. A driver may answer for `key` from a read just before. */
  now(key?: string): Steps<Step, StepNow>
  perform(step: Step): Promise<unknown>
  performSync?(step: Step): unknown
  /** Where a person finds the entry: a path, or a table and key. */
  locate?(key: string, epoch: number): string
  /** Calls back when the key may have changed, but may miss changes; returns a function that stops it. */
  watch?(key: string, onChange: () => void): () => void
  /** Keeps the order of waiters. Without it, the process that asks first when the key is free gets it. */
  readonly waiters?: WaiterQueue<Step>
  /** What hooks have noted about calls without changing a record; without it, no claim gets a pass. */
  readonly marks?: MarkFiles<Step>
}

/** The waiters of each key: texts with numbers, in the order of which the key is given to them. */
export interface WaiterQueue<Step = unknown> {
  /** The numbers of a key, in order. Every grant asks for them, so it must be quick where there are none. */
  numbers(key: string): Steps<Step, number[]>
  /** A text and when it was last touched, in milliseconds since the epoch; undefined if it was removed. */
  read(key: string, number: number): Steps<Step, WaiterEntry | undefined>
  /** Adds a text with a number above all others of the key, which no other has; returns the number. */
  add(key: string, text: string): Steps<Step, number>
  /** Marks a text as touched now; false if it was removed. */
  touch(key: string, number: number): Steps<Step, boolean>
  remove(key: string, number: number): Steps<Step, void>
}

export interface WaiterEntry {
  text: string
  touchedAt: number
}

/** The marks of sessions: see `marks.ts`. */
export interface MarkFiles<Step = unknown> {
  /** The directory with one directory for each session. */
  readonly directory: string
  /** All files of a session, and then the seconds since boot; no uptime if the system does not tell it. */
  read(sessionId: string): Steps<Step, { files: MarkFile[]; uptime: number | undefined }>
}

export interface MarkFile {
  /** The key and epoch of the pass that allowed the marks; epoch 0 and no key for ends of refused calls. */
  key: string
  epoch: number
  /** Undefined if the file cannot be read. */
  text: string | undefined
}

/** What a register holds for a key. */
export interface StepEntry {
  /** Without a text: 0 if it was read; in a swap, the number after which the epochs of the key start. */
  epoch: number
  /** Undefined if the key was never written, or was removed. */
  text: string | undefined
}

export interface StepNow {
  /** Milliseconds since the epoch. */
  wall: number
  /** Monotonic milliseconds; comparable only between equal `clock`s. */
  mono: number
  /** Names the monotonic clock: one boot of one machine. */
  clock: string
  /** While this stays the same, nothing written can have been lost. By default this machine's boot. */
  era?: string
}

export type Steps<Step, Result> = Generator<Step, Result, unknown>
