import type { ChildProcess, SpawnOptions } from 'node:child_process'
import type { Scratch } from '../scratch/index.ts'
import type { StopSignal } from './interruption.ts'
import type { Reply } from './reply.ts'
import { columnsOf } from '../base/process/terminal.ts'

/** The context of a bare command, which has no scratch and starts no children. */
export interface BareContext {
  readonly requestId: string
  /** Aborts when the run must stop. A handler that has read it gets the grace to finish. */
  readonly signal: AbortSignal
  /** Whether the answer will be an envelope: then print nothing to stdout. */
  readonly json: boolean
  /** The screen behind stdout, for strings that the handler prints itself. */
  readonly screen: Screen
  /** Whether --quiet was given: then print nothing but errors, and no progress either. */
  readonly quiet: boolean
  /** Adds a line to the envelope's `warnings`, or prints it to stderr for a person. */
  warn(message: string): void
  /** Prints a string for a person, beside the answer; not with an envelope, nor with --quiet. */
  say(text: string): void
  /** Prints a line to stderr, with --verbose only. */
  note(message: string): void
}

/** Makes the part of a context that every command has. */
export const makeBareContext = (reply: Reply, stop: StopSignal, json: boolean): BareContext => ({
  requestId: reply.meta.request_id,
  get signal() {
    return stop.signal
  },
  json,
  get screen() {
    return screenOf(1, reply.verbose)
  },
  quiet: reply.quiet,
  ...reply.printers,
})

/** The context of a command: its scratch, its children, and its way to print. */
export interface CommandContext extends BareContext {
  readonly sessionId: string | undefined
  /** When the timeout ends the run, in milliseconds since the epoch; undefined without a timeout. */
  readonly deadline: number | undefined
  /** The path of the scratch, which is also the `TMPDIR` of this process and its children. */
  readonly tmpDir: string
  readonly scratch: Scratch
  /** Starts a child that is recorded and never outlives the run. Rejects if it cannot be started. */
  spawn(command: string, args?: readonly string[], options?: SpawnOptions): Promise<RunChild>
  /**
   * Adds a hook that runs when the run ends, newest first. It does not run if the handler calls
   * `process.exit`, or at a second Ctrl-C.
   */
  onCleanup(hook: () => void | Promise<void>): void
  /**
   * Adds a hook that runs last, when the children and the scratch are gone. It also runs when the process
   * exits at once; then only its synchronous part happens.
   */
  onRelease(hook: () => void | Promise<void>): void
}

export interface RunChild {
  readonly pid: number
  /** Node's own handle: streams, `kill`, events. */
  readonly process: ChildProcess
  /** Resolves when the child has ended; never rejects. */
  readonly exited: Promise<ChildExit>
}

export interface ChildExit {
  /** Null if a signal ended the child. */
  code: number | null
  signal: NodeJS.Signals | null
}

const codes = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const

/** Functions that colour a string, or return it unchanged where colours are not wanted. */
export type Paint = Readonly<Record<keyof typeof codes, (text: string) => string>>

/** FORCE_COLOR decides, then NO_COLOR, then whether the output is a terminal with colours. */
export function wantsColour(isTerminal: boolean, env: NodeJS.ProcessEnv): boolean {
  const { FORCE_COLOR: force, NO_COLOR: none, TERM: terminal } = env
  if (force) return force !== '0' && force !== 'false'
  return !none && isTerminal && terminal !== 'dumb'
}

export function paintIf(wanted: boolean): Paint {
  const entries = Object.entries(codes).map(([name, [on, off]]) => [
    name,
    (text: string) => (wanted ? `\x1b[${on}m${text}\x1b[${off}m` : text),
  ])
  return Object.fromEntries(entries) as Paint
}

/** Where text for a person appears: how wide it can be, and whether it can be coloured. */
export interface Screen {
  /** Infinity where stdout is no terminal: what is piped to another program is never cut. */
  readonly columns: number
  /** Infinity where stdout is no terminal. */
  readonly rows: number
  readonly paint: Paint
  /** Whether --verbose was given: then an answer shows what only experts want to know. */
  readonly verbose: boolean
}

const usualRows = 24

/** The screen behind stdout or stderr, whatever these are. */
export function screenOf(fd: 1 | 2, verbose = false): Screen {
  const columns = columnsOf(fd)
  const paint = paintIf(wantsColour(columns !== undefined, process.env))
  if (columns === undefined)
    return { columns: Number.POSITIVE_INFINITY, rows: Number.POSITIVE_INFINITY, paint, verbose }
  const { rows } = fd === 1 ? process.stdout : process.stderr
  return { columns, rows: rows || usualRows, paint, verbose }
}
