import { errorCode, errorMessage } from '../base/errors/stint-error.ts'
import type { SessionLog } from './session-log.ts'

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

/** How often a process that could not give a session back tries again, in milliseconds. */
const giveBackMs = 1000
const waiting = new WeakSet<SessionLog>()

/** Gives a session back. If that fails, on a full disk for example, it is tried again every second. */
export async function giveBack(held: SessionLog): Promise<void> {
  try {
    await held.release()
  } catch (error) {
    if (errorCode(error) !== 'FENCED' && !waiting.has(held)) {
      waiting.add(held)
      setTimeout(() => {
        waiting.delete(held)
        void giveBack(held).catch(() => {})
      }, giveBackMs).unref()
    }
    throw error
  }
}
