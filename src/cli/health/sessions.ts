import { type SessionState, type SessionSummary, sessionStates } from '../../store/store.ts'
import { plural } from '../text/plural.ts'
import { bad, type Check, fine, poor } from './check.ts'

export type StateCounts = Record<SessionState, number>

export function countStates(sessions: readonly Pick<SessionSummary, 'state'>[]): StateCounts {
  const counts = Object.fromEntries(sessionStates.map((state) => [state, 0])) as StateCounts
  for (const { state } of sessions) counts[state] += 1
  return counts
}

/** What commands need to be told so that they work on sessions in files: where a server is named, they mean that. */
export const filesFlag = (env: NodeJS.ProcessEnv = process.env): string =>
  env.STINT_STORE && env.STINT_STORE !== 'files' ? ' --store files' : ''

/** Each state that somebody should do something about, the worst first. `flag` leads commands to where they are kept. */
export function judgeSessions(sessions: readonly Pick<SessionSummary, 'id' | 'state'>[], flag = ''): Check[] {
  const idsOf = (state: SessionState): string[] =>
    sessions.filter((session) => session.state === state).map(({ id }) => id)
  const [damaged, locked, crashed] = [idsOf('damaged'), idsOf('locked'), idsOf('crashed')]
  const found = [
    ...(damaged.length === 0
      ? []
      : [
          bad(
            'sessions',
            `${damaged.length} damaged: ${some(damaged)}`,
            `stint sessions repair ${damaged[0]}${flag}`,
          ),
        ]),
    ...(locked.length === 0
      ? []
      : [
          poor(
            'sessions',
            `${locked.length} held by a process that cannot be seen from here: ${some(locked)}`,
            `End that process; if it is gone for good: stint sessions unlock ${locked[0]}${flag}`,
          ),
        ]),
    ...(crashed.length === 0
      ? []
      : [
          poor(
            'sessions',
            `${crashed.length} whose writer died: ${some(crashed)}`,
            `Resume it in its own tool: everything that was acknowledged is there. \`stint sessions tail ${crashed[0]}${flag}\` shows its end.`,
          ),
        ]),
  ]
  return found.length > 0 ? found : [fine('sessions', plural(sessions.length, 'session'))]
}

const shown = 3

const some = (ids: readonly string[]): string =>
  ids.slice(0, shown).join(', ') + (ids.length > shown ? ' and others' : '')
