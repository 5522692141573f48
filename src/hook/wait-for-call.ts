import { waitingHookName } from '../lease/index.ts'
import type { HookEvent } from './event.ts'
import { type HookContext, retryToolCall } from './handle-event.ts'
import type { HookOptions } from './options.ts'
import type { Verdict } from './verdict.ts'

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Waits for a workspace as long as the user chose. A signal ends the wait, so that no waiter is left. */
export async function waitForCall(
  event: HookEvent,
  options: HookOptions,
  context: HookContext,
): Promise<Verdict> {
  process.title = waitingHookName
  const stop = new AbortController()
  let received: NodeJS.Signals | undefined
  const end = (signal: NodeJS.Signals): void => {
    received = signal
    stop.abort()
  }
  for (const signal of endingSignals) process.on(signal, end)
  try {
    return await retryToolCall(event, options, context, stop.signal)
  } finally {
    for (const signal of endingSignals) process.removeListener(signal, end)
    // Without the listeners, the signal ends this process as it would have without a wait.
    if (received !== undefined) process.kill(process.pid, received)
  }
}
