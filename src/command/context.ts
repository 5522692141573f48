import type { ChildProcess, SpawnOptions } from 'node:child_process'
import type { Scratch } from '../scratch/index.ts'

/** What the handler of a bare command is given: one that has no scratch and starts nothing. */
export interface BareContext {
  readonly requestId: string
  /** Aborts when the run must stop: a signal, a timeout. A handler that reads it is given the grace to finish. */
  readonly signal: AbortSignal
  /** When the timeout ends the run, on `Date.now()`'s clock; undefined without one. */
  readonly deadline: number | undefined
  /** Will the answer be an envelope? Then print nothing to stdout. */
  readonly json: boolean
  /** Was --quiet given? Then print nothing but errors, and no progress either. */
  readonly quiet: boolean
  /** Adds a line to the envelope's `warnings` (and to stderr for a person). */
  warn(message: string): void
  /** Prints something for a person beside the answer; nothing where the answer is an envelope, or with --quiet. */
  say(text: string): void
  /** With --verbose: a line on stderr that helps to understand what happens. */
  note(message: string): void
}

/** What a command's handler is given. */
export interface CommandContext extends BareContext {
  readonly sessionId: string | undefined
  /** The scratch's path; `TMPDIR` says the same to this process and its children. */
  readonly tmpDir: string
  readonly scratch: Scratch
  /** Starts a child that is recorded and never outlives the run; rejects if it cannot be started. */
  spawn(command: string, args?: readonly string[], options?: SpawnOptions): Promise<RunChild>
  /** Runs when the run ends, the newest first; not if the handler exits the process itself, or at a second Ctrl-C. */
  onCleanup(hook: () => void | Promise<void>): void
  /**
   * Runs last, when the children are gone and the scratch is, too. Also when there is no time to wait: what it has not done when it
   * returns is then not done.
   */
  onRelease(hook: () => void | Promise<void>): void
}

export interface RunChild {
  readonly pid: number
  /** Node's own handle: streams, `kill`, events. */
  readonly process: ChildProcess
  /** Resolves when it has ended; never rejects. */
  readonly exited: Promise<ChildExit>
}

export interface ChildExit {
  /** Null if a signal ended it. */
  code: number | null
  signal: NodeJS.Signals | null
}
