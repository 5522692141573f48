import { errorMessage } from '../base/errors/stint-error.ts'

/** A session that this process holds. */
interface HeldByProgram {
  id: string
  close: () => Promise<void>
}

const held = new Set<HeldByProgram>()

/** The event loop is empty: closing the sessions keeps the process alive until they are closed. */
function closeAll(): void {
  for (const session of held) {
    // Once: after a failure, the empty event loop would call this again and again.
    forget(session)
    session
      .close()
      .catch((error: unknown) =>
        process.emitWarning(`session ${session.id} was not closed cleanly: ${errorMessage(error)}`),
      )
  }
}

function forget(session: HeldByProgram): void {
  if (held.delete(session) && held.size === 0) process.off('beforeExit', closeAll)
}

/**
 * Closes a session when the program has nothing left to do. `process.exit`, an uncaught error and a signal
 * leave it as a crash does. Returns a function that forgets the session again.
 */
export function closeAtEnd(session: HeldByProgram): () => void {
  if (held.size === 0) process.on('beforeExit', closeAll)
  held.add(session)
  return () => forget(session)
}
