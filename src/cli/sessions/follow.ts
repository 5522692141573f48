import type { Inspection, SessionEvent } from '../../session/store.ts'
import type { OpenSessions } from './open-sessions.ts'

/** How often to look for more. */
const lookMs = 200

/** What is written from a record on, as it comes, until it is stopped; across segments and writers. Ends if the session is removed. */
export async function* follow(
  inspection: Inspection,
  { assertThere }: Pick<OpenSessions, 'assertThere'>,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<SessionEvent> {
  let next = from
  while (!signal.aborted) {
    for await (const event of inspection.events({ from: next, all: true })) {
      next = event.seq + 1
      yield event
    }
    await assertThere(inspection.summary.id)
    await pause(signal)
  }
}

async function pause(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, lookMs)
    function done(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done)
  })
}
