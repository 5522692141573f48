import { StintError } from '../../base/errors/stint-error.ts'
import { checkSessionId } from '../../session/session-errors.ts'
import { type OpenSessions, openSessions } from './open-sessions.ts'

/** The sessions, and which of them a command is about. */
export interface OpenSession extends OpenSessions {
  id: string
}

/** For a command that takes the id of one session. */
export async function openSession(
  store: string | undefined,
  positionals: readonly string[],
  warn: (message: string) => void,
): Promise<OpenSession> {
  const sessions = await openSessions(store, warn)
  return { ...sessions, id: await findId(sessions, idArgument(positionals)) }
}

const shownCandidates = 10

/** The one id that a command takes, as it was typed. */
export function idArgument(positionals: readonly string[]): string {
  const [id, extra] = positionals
  if (id === undefined)
    throw new StintError('ARG_ERROR', 'no session given', {
      hint: 'Give its id; `stint sessions list` shows all.',
    })
  if (extra !== undefined)
    throw new StintError(
      'ARG_ERROR',
      `one session at a time: ${JSON.stringify(extra.slice(0, 140))} is one too many`,
    )
  return id
}

/** The session that is meant: by its id, or by any beginning of it that no other has; `ses_` may be left out. */
export async function findId({ ids }: Pick<OpenSessions, 'ids'>, given: string): Promise<string> {
  checkSessionId(given)
  const candidates = await ids(given)
  if (candidates.includes(given)) return given
  const [only, other] = candidates
  if (only !== undefined && other === undefined) return only
  if (only === undefined)
    throw new StintError('NOT_FOUND', `there is no session ${given}`, {
      hint: '`stint sessions list` shows all.',
    })
  const shown = candidates.slice(0, shownCandidates)
  const more = candidates.length > shown.length ? ` and ${candidates.length - shown.length} more` : ''
  throw new StintError(
    'ARG_ERROR',
    `${given} matches ${candidates.length} sessions: ${shown.join(', ')}${more}`,
    { hint: 'Give more of the id.', facts: { candidates } },
  )
}
