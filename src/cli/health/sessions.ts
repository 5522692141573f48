import { type SessionState, sessionStates, type SessionSummary } from '../../session/index.ts'
import { plural } from '../text/format.ts'
import { type Check, fail, ok, warn } from './check.ts'

type StateCounts = Record<SessionState, number>

export function countStates(sessions: readonly Pick<SessionSummary, 'state'>[]): StateCounts {
  const counts = Object.fromEntries(sessionStates.map((state) => [state, 0])) as StateCounts
  for (const { state } of sessions) counts[state] += 1
  return counts
}

/** The prefix with which a command works on sessions in files although `STINT_STORE` names a server. */
export const filesPrefix = (env: NodeJS.ProcessEnv = process.env): string =>
  env.STINT_STORE && env.STINT_STORE !== 'files' ? 'STINT_STORE=files ' : ''

/** Judges the sessions in files. */
export const judgeHomeSessions = (sessions: readonly SessionSummary[]): Check[] =>
  judgeSessions(sessions, { prefix: filesPrefix(), onServer: false })

/** Where sessions are kept. */
interface SessionLocation {
  /** The prefix with which a command works on them. */
  prefix: string
  onServer: boolean
}

/** One check for each state that needs attention, the worst first. */
export function judgeSessions(
  sessions: readonly Pick<SessionSummary, 'id' | 'state'>[],
  { prefix, onServer }: SessionLocation = { prefix: '', onServer: false },
): Check[] {
  const judge = (state: SessionState, say: (count: number, names: string, id: string) => Check): Check[] => {
    const ids = sessions.filter((session) => session.state === state).map(({ id }) => id)
    const [first] = ids
    return first === undefined ? [] : [say(ids.length, listIds(ids), first)]
  }
  const found = [
    ...judge('damaged', (count, names, id) =>
      fail(
        'sessions',
        `${count} damaged: ${names}`,
        // `stint sessions repair` works on files only.
        onServer
          ? `\`stint sessions verify ${id}\` shows the damage; restore the session from a backup of the database.`
          : `${prefix}stint sessions repair ${id}`,
      ),
    ),
    ...judge('locked', (count, names, id) =>
      warn(
        'sessions',
        `${count} held by a process that cannot be seen from here: ${names}`,
        `End that process; if it is gone for good: ${prefix}stint sessions unlock ${id}`,
      ),
    ),
  ]
  if (found.length > 0) return found
  const crashed = sessions.filter(({ state }) => state === 'crashed').length
  // Nothing is lost and nothing has to be done: the next writer takes such a session over.
  const left = crashed === 0 ? '' : `, ${crashed} of them left open by a process that died`
  return [ok('sessions', `${plural(sessions.length, 'session')}${left}`)]
}

const namedIds = 3

const listIds = (ids: readonly string[]): string =>
  ids.slice(0, namedIds).join(', ') + (ids.length > namedIds ? ' and others' : '')
