import { StintError } from '../../base/errors/stint-error.ts'
import { checkSessionId, type DriverStore, idsOf } from '../../session/index.ts'
import { openStore } from '../store.ts'

/** The session that a command is about, and its store. */
export interface NamedSession {
  id: string
  store: DriverStore
}

/** Opens the store of a command that takes the id of one session, and finds the session. */
export async function openNamed(
  given: string | undefined,
  positionals: readonly string[],
  warn: (message: string) => void,
): Promise<NamedSession> {
  const store = await openStore(given, warn)
  return { store, id: await findId(store, idArgument(positionals)) }
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

/** Finds a session by its id, or by a prefix that no other id has; `ses_` may be left out. */
export async function findId({ driver }: Pick<DriverStore, 'driver'>, given: string): Promise<string> {
  checkSessionId(given)
  const candidates = await idsOf(driver, given)
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
