import { closeSync, openSync } from 'node:fs'
import { constants } from 'node:os'
import { succeeds } from '../base/errors/if-possible.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { readProcessStat } from '../base/process/platform.ts'
import { formatDuration, timerMs } from '../base/text/duration.ts'
import { asStintError } from './reply.ts'

/** Why a run must stop before its handler is done. */
interface Interruption {
  error: StintError
  /** The signal that its children get. */
  signal: NodeJS.Signals
}

/** How a run reacts to signals, to its timeout and to uncaught errors. */
interface InterruptionPolicy {
  timeoutMs?: number
  /** On a terminal: whether a foreground child gets Ctrl-C and Ctrl-\ and decides what they do. */
  childHasInterrupts?: () => boolean
  /** Passes on a signal that does not end the run. */
  forward?: (signal: NodeJS.Signals) => void
  /** Called at a second Ctrl-C: the user does not want to wait for the teardown. */
  onSecondInterrupt: (error: StintError) => void
  /** Called with an error that comes up while the run is already ending. */
  onLaterError: (error: StintError) => void
}

/**
 * Listens for everything that can end a run before its handler does: a signal, the timeout, an uncaught
 * error. `runMain` creates it first of all, so a signal that arrives before there is a run ends the run as
 * soon as it starts.
 */
export class Interruptions {
  /** Resolves with the first interruption; later ones change nothing. */
  readonly #first: Promise<Interruption>
  #resolve: (interruption: Interruption) => void = () => {}
  #policy: InterruptionPolicy | undefined
  #happened = false
  #interrupts = 0

  constructor() {
    this.#first = new Promise((resolve) => {
      this.#resolve = resolve
    })
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => this.#cancel(signal))
    process.on('SIGINT', () => this.#interrupt('SIGINT'))
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, (thrown: unknown) => this.#fail(asStintError(thrown)))
    }
    // The event loop is empty: the handler can never settle, and the process would end unanswered.
    process.once('beforeExit', () => this.#fail(neverFinishes()))
  }

  /** Applies a run's policy from here on. Resolves with the first interruption. */
  follow(policy: InterruptionPolicy): Promise<Interruption> {
    this.#policy = policy
    const { timeoutMs, forward } = policy
    if (timeoutMs !== undefined && timeoutMs === timerMs(timeoutMs))
      setTimeout(() => this.#fail(timedOut(timeoutMs)), timeoutMs).unref()
    if (policy.childHasInterrupts !== undefined) process.on('SIGQUIT', () => this.#interrupt('SIGQUIT'))
    else if (forward !== undefined) process.on('SIGQUIT', () => forward('SIGQUIT'))
    // SIGUSR1 would open Node's debugger.
    if (forward !== undefined)
      for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => forward(signal))
    return this.#first
  }

  #interrupt(signal: NodeJS.Signals): void {
    if (this.#policy?.childHasInterrupts?.()) return
    this.#interrupts += 1
    if (this.#interrupts > 1) this.#policy?.onSecondInterrupt(cancelled(signal))
    this.#cancel(signal)
  }

  #cancel(signal: NodeJS.Signals): void {
    this.#happened = true
    this.#resolve({ error: cancelled(signal), signal })
  }

  #fail(error: StintError): void {
    if (this.#happened) this.#policy?.onLaterError(error)
    this.#happened = true
    this.#resolve({ error, signal: 'SIGTERM' })
  }
}

/**
 * Tells a handler to stop. Its `AbortSignal` is made when the handler first reads it: a handler that never
 * does cannot be listening, so the teardown need not wait for it.
 */
export class StopSignal {
  #controller: AbortController | undefined
  #reason: StintError | undefined

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  /** Whether the handler has read the signal. */
  get wasRead(): boolean {
    return this.#controller !== undefined
  }

  stop(reason: StintError): void {
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}

const cancelled = (signal: NodeJS.Signals): StintError =>
  new StintError('CANCELLED', `stopped by ${signal}`, {
    exit: 128 + constants.signals[signal],
    phase: 'execution',
    facts: { signal },
  })

const neverFinishes = (): StintError =>
  new StintError(
    'UNEXPECTED',
    'the command can never finish: nothing is left that could resolve what it waits for',
    { phase: 'execution' },
  )

const timedOut = (ms: number): StintError =>
  new StintError('TIMEOUT', `stopped after ${formatDuration(ms)}, before it was done`, {
    phase: 'execution',
    facts: { timeout_ms: ms },
  })

// Terminal handling that keeps `stint run` invisible behind its foreground child.

/** Is there a terminal whose keys send signals to our process group? It need not be stdin. */
export const hasControllingTerminal = (): boolean => succeeds(() => closeSync(openSync('/dev/tty', 'r+')))

/**
 * Stops this process at Ctrl-Z, but only after its children. Ctrl-Z reaches all of them at once: if we
 * stopped first, the shell would take the terminal back while the child is still restoring its modes.
 */
export function stopWithChildren(children: () => readonly number[]): void {
  let isAsked = false
  const stopIfReady = (): void => {
    if (!isAsked || !children().every(hasStopped)) return
    process.off('SIGTSTP', ask)
    process.kill(process.pid, 'SIGTSTP')
    // Execution goes on here after `fg`.
    isAsked = false
    process.on('SIGTSTP', ask)
  }
  const ask = (): void => {
    isAsked = true
    stopIfReady()
  }
  process.on('SIGTSTP', ask)
  // The kernel sends SIGCHLD also when a child stops.
  process.on('SIGCHLD', stopIfReady)
  process.on('SIGCONT', () => {
    isAsked = false
  })
}

const hasStopped = (pid: number): boolean => {
  const state = readProcessStat(pid)?.state
  return state === undefined || state === 'T' || state === 'Z'
}

/**
 * Closes the terminal's descriptors. At exit, Node resets each open terminal to its modes at start-up, and so
 * overrides what the child has set, or what a program that is in the foreground by now uses.
 */
export async function leaveTerminalAsItIs(): Promise<void> {
  const { isatty } = await import('node:tty')
  for (const fd of [0, 1, 2]) if (isatty(fd)) closeSync(fd)
}

/** Dies of SIGINT: bash stops a script at Ctrl-C only if its child died of it. Exit code 130 does not do. */
export function dieOfInterrupt(): void {
  process.removeAllListeners('SIGINT')
  process.kill(process.pid, 'SIGINT')
}
