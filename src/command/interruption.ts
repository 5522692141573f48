import { constants } from 'node:os'
import { formatDuration, timerMs } from '../base/text/duration.ts'
import { StintError } from '../base/errors/stint-error.ts'
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
  new StintError('TIMEOUT', `not done after ${formatDuration(ms)}`, {
    phase: 'execution',
    facts: { timeout_ms: ms },
  })
