import { waitingHookName } from '../lease/index.ts'

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** A signal of the system ended the wait of a hook. */
export class WaitEnded extends Error {
  constructor(readonly signal: NodeJS.Signals) {
    super(`the wait was ended by ${signal}`)
  }
}

/** Makes the signals that end a process end its wait first, so that no waiter is left. */
export function waitSignal(): AbortSignal {
  // On macOS, only the title tells that this process is a hook, and no work of the session.
  process.title = waitingHookName
  const wait = new AbortController()
  for (const signal of endingSignals) process.once(signal, () => wait.abort(new WaitEnded(signal)))
  return wait.signal
}
