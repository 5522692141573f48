import { StintError } from '../base/errors/stint-error.ts'
import { durationMs } from '../base/text/duration.ts'
import { hasSpool, newestFirst } from './driver-defaults.ts'
import type { ReadableSession, StoreDriver } from './driver.ts'
import { type FoundRecord, SearchQuery } from './search-query.ts'
import type { FoundEvent, SearchOptions, SessionSummary } from './store.ts'

/** Searches sessions, in the order given; in each, what is pending first, then the newest record first. */
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
      if (session.lastAt < from && !(await hasSpool(driver, session.id))) continue
      const seen = new Set<string>()
      for (const found of await findPending(driver, session, query)) {
        seen.add(found.spool)
        yield { session, ...found }
      }
      for await (const found of searchOne(await driver.read(session.id), query, addBytes))
        // The holder may have taken the entry in since it was found in the spool.
        if (found.spool === undefined || !seen.has(found.spool)) yield { session, ...found }
    } catch (error) {
      if (!(error instanceof StintError) || onUnreadable === undefined) throw error
      // Sessions come and go: one that was removed meanwhile has no events.
      if (error.code !== 'NOT_FOUND') onUnreadable(session, error)
    }
  }
}

async function findPending(
  driver: StoreDriver,
  { id, lastAt }: SessionSummary,
  query: SearchQuery,
): Promise<(Omit<FoundRecord, 'seq'> & { spool: string; pending: true })[]> {
  if (!(await hasSpool(driver, id))) return []
  const entries = await driver.spooled(id)
  return entries.toReversed().flatMap(({ log, type, json, at = lastAt, spool }) => {
    if (log !== 'journal' || !query.wants({ at, type })) return []
    const match = query.inRecord({ at, type, data: JSON.parse(json) as unknown })
    return match === undefined ? [] : [{ pending: true, at, type, spool, ...match }]
  })
}

async function* searchOne(
  session: ReadableSession,
  query: SearchQuery,
  onBytes: (bytes: number) => void,
): AsyncGenerator<FoundRecord> {
  if (session.search !== undefined) return yield* session.search(query, onBytes)
  for await (const record of newestFirst(session)) {
    const match = query.wants(record) ? query.inRecord(record) : undefined
    const { seq, at, type, spool } = record
    if (match !== undefined) yield { seq, at, type, spool, ...match }
  }
}
