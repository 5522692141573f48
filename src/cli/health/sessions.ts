import { type SessionState, sessionStates, type SessionSummary } from '../../session/index.ts'
import { plural } from '../text/format.ts'
import { bad, type Check, fine, poor } from './check.ts'

export type StateCounts = Record<SessionState, number>

export function countStates(sessions: readonly Pick<SessionSummary, 'state'>[]): StateCounts {
  const counts = Object.fromEntries(sessionStates.map((state) => [state, 0])) as StateCounts
  for (const { state } of sessions) counts[state] += 1
  return counts
}

/** What makes a command work on sessions in files where `STINT_STORE` names a server. */
export const filesPrefix = (env: NodeJS.ProcessEnv = process.env): string =>
  env.STINT_STORE && env.STINT_STORE !== 'files' ? 'STINT_STORE=files ' : ''

/** Where sessions are kept. */
export interface SessionPlace {
  /** Stands before commands, to lead them there. */
  prefix: string
  onServer: boolean
}

/** Each state that somebody should do something about, the worst first. */
export function judgeSessions(
  sessions: readonly Pick<SessionSummary, 'id' | 'state'>[],
  { prefix, onServer }: SessionPlace = { prefix: '', onServer: false },
): Check[] {
  const judge = (state: SessionState, say: (count: number, names: string, id: string) => Check): Check[] => {
    const ids = sessions.filter((session) => session.state === state).map(({ id }) => id)
    const [first] = ids
    return first === undefined ? [] : [say(ids.length, some(ids), first)]
  }
  const found = [
    ...judge('damaged', (count, names, id) =>
      bad(
        'sessions',
        `${count} damaged: ${names}`,
        // Only files can be repaired.
        onServer
          ? `\`stint sessions verify ${id}\` shows the damage; restore the session from a backup of the database.`
          : `${prefix}stint sessions repair ${id}`,
      ),
    ),
    ...judge('locked', (count, names, id) =>
      poor(
        'sessions',
        `${count} held by a process that cannot be seen from here: ${names}`,
        `End that process; if it is gone for good: ${prefix}stint sessions unlock ${id}`,
      ),
    ),
    ...judge('crashed', (count, names, id) =>
      poor(
        'sessions',
        `${count} whose writer died: ${names}`,
        `Resume it in its own tool: everything that was acknowledged is there. \`${prefix}stint sessions tail ${id}\` shows its end.`,
      ),
    ),
  ]
  return found.length > 0 ? found : [fine('sessions', plural(sessions.length, 'session'))]
}

const shown = 3

const some = (ids: readonly string[]): string =>
  ids.slice(0, shown).join(', ') + (ids.length > shown ? ' and others' : '')
