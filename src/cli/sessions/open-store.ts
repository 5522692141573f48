import { join } from 'node:path'
import { nodeDisk } from '../../primitives/disk.ts'
import { stintHome } from '../../primitives/home.ts'
import { StintError } from '../../primitives/stint-error.ts'
import { sessionIdsIn } from '../../store/filesystem/find-session.ts'
import { checkSessionId } from '../../store/filesystem/paths.ts'
import { filesystemStore } from '../../store/filesystem/store.ts'
import type { SessionStore } from '../../store/store.ts'

/** The store that commands work on. */
export const openStore = (): SessionStore => filesystemStore()

/** The directory of all sessions. */
export const sessionsDirectory = (): string => join(stintHome(), 'sessions')

const shownCandidates = 10

/** The one id that a command takes, as it was typed. */
export function idArgument(positionals: readonly string[]): string {
  const [id, extra] = positionals
  if (id === undefined)
    throw new StintError('ARG_ERROR', 'which session?', {
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
export function findId(given: string): string {
  checkSessionId(given)
  const ids = sessionIdsIn(nodeDisk, sessionsDirectory())
  if (ids.includes(given)) return given
  const candidates = ids.filter((id) => id.startsWith(given) || id.startsWith(`ses_${given}`)).sort()
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
    `${given} is the beginning of ${candidates.length} sessions: ${shown.join(', ')}${more}`,
    { hint: 'Give more of the id.', facts: { candidates } },
  )
}
