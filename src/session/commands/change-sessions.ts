import { errorCode, errorMessage, StintError } from '../../base/errors/stint-error.ts'

/** A session that a command could not change. */
interface Unchanged {
  session_id: string
  code: string
  message: string
}

interface Changes {
  changed: { session_id: string }[]
  failed: Unchanged[]
}

/**
 * Changes one session after the other, and goes on if one fails. Throws when none is left if any has failed,
 * with everything that was done as `data`.
 */
export async function changeSessions(
  ids: readonly string[],
  signal: AbortSignal,
  change: (id: string) => Promise<void>,
): Promise<void> {
  const changes: Changes = { changed: [], failed: [] }
  let first: unknown
  for (const id of ids) {
    signal.throwIfAborted()
    try {
      await change(id)
      changes.changed.push({ session_id: id })
    } catch (error) {
      first ??= error
      const code = errorCode(error) ?? 'INTERNAL'
      changes.failed.push({ session_id: id, code, message: errorMessage(error) })
    }
  }
  if (first === undefined) return
  if (!(first instanceof StintError) || ids.length === 1) throw first
  const more = changes.failed.length - 1
  throw new StintError(first.code, `${first.message}${more === 0 ? '' : ` (and ${more} more)`}`, {
    cause: first,
    hint: first.hint,
    data: changes,
    // The identical call would find fewer sessions.
    retryable: first.retryable && changes.changed.length === 0,
  })
}
