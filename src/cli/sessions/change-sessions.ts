import { userInfo } from 'node:os'
import { ifPossible } from '../../base/errors/if-possible.ts'
import { errorCode, errorMessage, StintError } from '../../base/errors/stint-error.ts'
import { stintHome } from '../../base/fs/home.ts'
import type { BareContext } from '../../command/context.ts'
import {
  type DriverStore,
  logSessions,
  type SessionLogLine,
  type SessionSummary,
} from '../../session/index.ts'

/** A session that a command could not change. */
interface Unchanged {
  session_id: string
  code: string
  message: string
}

export interface Changes<Result> {
  changed: Result[]
  failed: Unchanged[]
}

/**
 * Changes one session after the other, notes each in the log of sessions, and goes on if one fails. Throws
 * when none is left if any has failed, with everything that was done as `data`.
 */
export async function changeSessions<Result extends { session_id: string }>(
  store: DriverStore,
  sessions: readonly SessionSummary[],
  { action, command }: Pick<SessionLogLine, 'action' | 'command'>,
  { signal, warn }: Pick<BareContext, 'signal' | 'warn'>,
  change: (session: SessionSummary) => Promise<Result | undefined>,
): Promise<Changes<Result>> {
  const changes: Changes<Result> = { changed: [], failed: [] }
  let first: unknown
  for (const session of sessions) {
    signal.throwIfAborted()
    try {
      const result = await change(session)
      if (result === undefined) continue
      changes.changed.push(result)
      noteChange(session, store, action, command, warn)
    } catch (error) {
      first ??= error
      const { id: session_id } = session
      changes.failed.push({ session_id, code: errorCode(error) ?? 'INTERNAL', message: errorMessage(error) })
    }
  }
  if (first === undefined) return changes
  if (!(first instanceof StintError) || sessions.length === 1) throw first
  const more = changes.failed.length - 1
  throw new StintError(first.code, `${first.message}${more === 0 ? '' : ` (and ${more} more)`}`, {
    cause: first,
    hint: first.hint,
    data: changes,
    // The identical call would find fewer sessions.
    retryable: first.retryable && changes.changed.length === 0,
  })
}

/** The change stands, even if it cannot be noted. */
function noteChange(
  { id, title, records }: SessionSummary,
  store: DriverStore,
  action: SessionLogLine['action'],
  command: string,
  warn: (message: string) => void,
): void {
  const by = ifPossible(() => userInfo().username) ?? 'a user'
  const line = { at: Date.now(), action, session_id: id, store: store.id, by, title, records, command }
  try {
    logSessions(stintHome(), [line])
  } catch (error) {
    warn(`the log of sessions has no line about ${id}: ${errorMessage(error)}`)
  }
}
