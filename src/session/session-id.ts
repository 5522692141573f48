import { isSessionId } from '../base/text/id.ts'
import { StintError } from '../base/errors/stint-error.ts'

/** An id from outside is checked before anything is done with it: it may become a part of a path. */
export function checkSessionId(id: unknown): asserts id is string {
  if (isSessionId(id)) return
  const shown = JSON.stringify(String(id).slice(0, 60))
  throw new StintError('SESSION_ID_INVALID', `${shown} is not a session id`)
}

export const sessionNotFound = (id: string, cause?: unknown): StintError =>
  new StintError('NOT_FOUND', `there is no session ${id}`, {
    hint: '`stint sessions list` shows all.',
    cause,
  })

export const sessionExists = (id: string, cause?: unknown): StintError =>
  new StintError('NAME_TAKEN', `session ${id} exists already`, {
    hint: 'Resume it, or choose another id.',
    cause,
  })

/** A session is resumed only through the store that wrote it. */
export function assertWrittenBy(ours: string, id: string, store: string): void {
  if (store === ours) return
  throw new StintError('RESUME_MISMATCH', `session ${id} was written by the store ${JSON.stringify(store)}`)
}
