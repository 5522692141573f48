import { StintError } from '../base/errors/stint-error.ts'
import { durationMs } from '../base/text/duration.ts'
import { newestFirst } from './driver-defaults.ts'
import type { ReadableSession, StoreDriver } from './driver.ts'
import { type FoundRecord, SearchQuery } from './search-query.ts'
import type { FoundEvent, SearchOptions, SessionSummary } from './store.ts'

/** Searches sessions, in the order given; in each, the newest record first. */
export async function* searchSessions(
  driver: StoreDriver,
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
      for await (const found of searchOne(await driver.read(session.id), query, addBytes))
        yield { session, ...found }
    } catch (error) {
      if (!(error instanceof StintError) || onUnreadable === undefined) throw error
      // Sessions come and go: one that was removed meanwhile has no events.
      if (error.code !== 'NOT_FOUND') onUnreadable(session, error)
    }
  }
}

async function* searchOne(
  session: ReadableSession,
  query: SearchQuery,
  onBytes: (bytes: number) => void,
): AsyncGenerator<FoundRecord> {
  if (session.search !== undefined) return yield* session.search(query, onBytes)
  for await (const record of newestFirst(session)) {
    const match = query.wants(record) ? query.inRecord(record) : undefined
    const { seq, at, type } = record
    if (match !== undefined) yield { seq, at, type, ...match }
  }
}
