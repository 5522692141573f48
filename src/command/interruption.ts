import { constants } from 'node:os'
import { formatDuration, timerMs } from '../base/text/duration.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { asStintError } from './envelope.ts'

/** Why a run must stop before its handler is done. */
export interface Interruption {
  error: StintError
  /** What its children are told. */
  signal: NodeJS.Signals
}

/** What a run makes of what comes from outside. */
export interface InterruptionPolicy {
  timeoutMs?: number
  /** On a terminal, Ctrl-C and Ctrl-\ go to the child in the foreground, if there is one; we wait for what it makes of them. */
  childHasInterrupts?: () => boolean
  /** Passes on a signal that does not end the run. */
  forward?: (signal: NodeJS.Signals) => void
  /** A second Ctrl-C: the user will not wait. */
  onImpatient?: (error: StintError) => void
  /** What goes wrong when the run is ending already. */
  onLater?: (error: StintError) => void
}

/**
 * Everything that can end a run before its handler does: a signal, the timeout, an uncaught error. Listens from the moment it is
 * made, which is the first thing a command does: a signal that comes before there is a run ends it as soon as there is one.
 */
export class Interruptions {
  /** The first interruption; later ones change nothing. */
  readonly #first: Promise<Interruption>
  #resolve: (interruption: Interruption) => void = () => {}
  #policy: InterruptionPolicy = {}
  #happened = false
  #impatience = 0

  constructor() {
    this.#first = new Promise((resolve) => {
      this.#resolve = resolve
    })
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => this.#cancel(signal))
    process.on('SIGINT', () => this.#interrupt('SIGINT'))
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, (thrown: unknown) => this.#happen({ error: asStintError(thrown), signal: 'SIGTERM' }))
    }
    // Nothing is left that could ever wake the handler: it would be the end of the process, without a word.
    process.once('beforeExit', () => this.#happen({ error: stuck(), signal: 'SIGTERM' }))
  }

  /** From here on there is a run, which wants to be interrupted like this. Resolves with the first interruption. */
  follow(policy: InterruptionPolicy): Promise<Interruption> {
    this.#policy = policy
    const { timeoutMs, forward } = policy
    if (timeoutMs !== undefined && timeoutMs === timerMs(timeoutMs)) {
      setTimeout(() => this.#happen({ error: timedOut(timeoutMs), signal: 'SIGTERM' }), timeoutMs).unref()
    }
    if (policy.childHasInterrupts !== undefined) process.on('SIGQUIT', () => this.#interrupt('SIGQUIT'))
    else if (forward !== undefined) process.on('SIGQUIT', () => forward('SIGQUIT'))
    // Left to itself, Node opens its debugger at SIGUSR1.
    if (forward !== undefined)
      for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.on(signal, () => forward(signal))
    return this.#first
  }

  #interrupt(signal: NodeJS.Signals): void {
    if (this.#policy.childHasInterrupts?.()) return
    this.#impatience += 1
    if (this.#impatience > 1) this.#policy.onImpatient?.(cancelled(signal))
    this.#cancel(signal)
  }

  #cancel(signal: NodeJS.Signals): void {
    this.#resolve({ error: cancelled(signal), signal })
    this.#happened = true
  }

  #happen(interruption: Interruption): void {
    if (this.#happened) this.#policy.onLater?.(interruption.error)
    this.#happened = true
    this.#resolve(interruption)
  }
}

const cancelled = (signal: NodeJS.Signals): StintError =>
  new StintError('CANCELLED', `stopped by ${signal}`, {
    exit: 128 + constants.signals[signal],
    phase: 'execution',
    facts: { signal },
  })

const stuck = (): StintError =>
  new StintError('UNEXPECTED', 'the command waits for something that can never happen', {
    phase: 'execution',
  })

const timedOut = (ms: number): StintError =>
  new StintError('TIMEOUT', `not done after ${formatDuration(ms)}`, {
    phase: 'execution',
    facts: { timeout_ms: ms },
  })
