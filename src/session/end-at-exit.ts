import { errorMessage } from '../base/errors/stint-error.ts'

/** A session that this process holds. */
interface Ending {
  id: string
  /** Gives it back without the event loop, if its driver can do that. */
  endNow: (() => void) | undefined
  close: () => Promise<void>
}

const held = new Set<Ending>()

/** `process.exit`, an uncaught error, or the end of the program: only synchronous calls have an effect. */
function endAll(): void {
  for (const { endNow } of held) {
    try {
      endNow?.()
    } catch {
      // The next holder recovers the session, as after a crash.
    }
  }
}

/** The event loop is empty: closing the sessions keeps the process alive until they are closed. */
function closeRemote(): void {
  for (const ending of held) {
    const { id, endNow, close } = ending
    if (endNow !== undefined) continue
    // Once: after a failure, the empty event loop would call this again and again.
    held.delete(ending)
    close().catch((error: unknown) =>
      process.emitWarning(`session ${id} was not closed cleanly: ${errorMessage(error)}`),
    )
  }
}

/** Gives a session back when the process ends. Returns a function that forgets the session again. */
export function endAtExit(ending: Ending): () => void {
  if (held.size === 0) process.on('beforeExit', closeRemote).on('exit', endAll)
  held.add(ending)
  return () => {
    if (held.delete(ending) && held.size === 0) process.off('beforeExit', closeRemote).off('exit', endAll)
  }
}
