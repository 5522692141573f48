import { setTimeout as delay } from 'node:timers/promises'
import type { Medium } from './medium.ts'
import type { Inspection, SessionEvent } from './store.ts'

/** How often to look for more records, in milliseconds. */
const lookMs = 200

/**
 * Yields the events from a record on as they are written, across segments and writers, until the signal
 * aborts. `NOT_FOUND` once the session is removed.
 */
export async function* followEvents(
  medium: Medium,
  inspection: Inspection,
  options: { from: number; signal: AbortSignal | undefined },
): AsyncGenerator<SessionEvent> {
  const { from, signal = new AbortController().signal } = options
  let next = from
  while (!signal.aborted) {
    for await (const event of inspection.events({ from: next, all: true })) {
      next = event.seq + 1
      yield event
    }
    await pause(medium, inspection, signal)
  }
}

/** Waits until the next look; fails once the session is removed. */
async function pause(medium: Medium, { manifest }: Inspection, signal: AbortSignal): Promise<void> {
  await medium.read(manifest.session_id)
  // A pause that the signal ends rejects.
  await delay(lookMs, undefined, { signal }).catch(() => {})
}
