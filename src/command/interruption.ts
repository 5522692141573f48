import { constants } from 'node:os'
import { formatDuration } from '../primitives/duration.ts'
import { StintError } from '../primitives/stint-error.ts'
import { asStintError } from './envelope.ts'

/** Why a run must stop before its handler is done. */
export interface Interruption {
  error: StintError
  /** What its children are told. */
  signal: NodeJS.Signals
}

export interface InterruptionSources {
  timeoutMs: number | undefined
  /** On a terminal, Ctrl-C and Ctrl-\ go to the child in the foreground; we wait for what it makes of them. */
  interruptIsChilds: boolean
  /** Without a terminal, signals that do not end the run are passed on. */
  forward: ((signal: NodeJS.Signals) => void) | undefined
  /** A second Ctrl-C: the user will not wait. */
  onImpatient: (error: StintError) => void
  /** What goes wrong when the run is ending already. */
  onLater: (error: StintError) => void
}

const ending: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP']
const forwarded: readonly NodeJS.Signals[] = ['SIGQUIT', 'SIGUSR1', 'SIGUSR2']
/** Longer than this a timer fires at once. */
const maxTimerMs = 2 ** 31 - 1

/** Resolves at the first signal, timeout or uncaught error; later ones change nothing any more. */
export function watchForInterruption(sources: InterruptionSources): Promise<Interruption> {
  return new Promise((resolve) => {
    let interrupts = 0
    let interrupted = false
    const interrupt = (interruption: Interruption): void => {
      if (interrupted) sources.onLater(interruption.error)
      interrupted = true
      resolve(interruption)
    }
    for (const signal of ending) {
      process.on(signal, () => {
        if (signal === 'SIGINT') {
          if (sources.interruptIsChilds) return
          interrupts += 1
          if (interrupts > 1) sources.onImpatient(cancelled('SIGINT'))
        }
        resolve({ error: cancelled(signal), signal })
      })
    }
    if (sources.interruptIsChilds) process.on('SIGQUIT', () => {})
    const { forward } = sources
    if (forward !== undefined) for (const signal of forwarded) process.on(signal, () => forward(signal))
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, (thrown: unknown) => interrupt({ error: asStintError(thrown), signal: 'SIGTERM' }))
    }
    // Nothing is left that could ever wake the handler: it would be the end of the process, without a word.
    process.once('beforeExit', () => resolve({ error: stuck(), signal: 'SIGTERM' }))
    const { timeoutMs } = sources
    if (timeoutMs !== undefined && timeoutMs <= maxTimerMs) {
      setTimeout(() => resolve({ error: timedOut(timeoutMs), signal: 'SIGTERM' }), timeoutMs).unref()
    }
  })
}

const exitCodeFor = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

const cancelled = (signal: NodeJS.Signals): StintError =>
  new StintError('CANCELLED', `stopped by ${signal}`, {
    exit: exitCodeFor(signal),
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
