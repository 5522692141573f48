import { StintError } from '../base/errors/stint-error.ts'
import { durationMs } from '../base/text/duration.ts'
import { searchLog } from './log/search.ts'
import type { Medium } from './medium.ts'
import { SearchQuery } from './search-query.ts'
import type { FoundEvent, SearchOptions, SessionSummary } from './store.ts'

/** Searches sessions, in the order given; in each, the newest record first. */
export async function* searchSessions(
  medium: Medium,
  sessions: readonly SessionSummary[],
  pattern: string | RegExp,
  { type, since, onBytes, onUnreadable }: SearchOptions,
  now: number,
): AsyncGenerator<FoundEvent> {
  const from = since === undefined ? 0 : now - durationMs(since, 'since')
  const query = new SearchQuery(pattern, { type, since: from })
  let bytes = 0
  const addBytes = (more: number): void => onBytes?.((bytes += more))
  for (const session of sessions) {
    try {
      if (session.lastAt < from) continue
      for await (const found of searchLog(await medium.read(session.id), query, addBytes))
        yield { session, ...found }
    } catch (error) {
      if (!(error instanceof StintError) || onUnreadable === undefined) throw error
      // Sessions come and go: one that was removed meanwhile has no events.
      if (error.code !== 'NOT_FOUND') onUnreadable(session, error)
    }
  }
}
