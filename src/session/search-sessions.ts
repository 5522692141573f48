import { StintError } from '../base/errors/stint-error.ts'
import { giveWay } from '../base/process/event-loop.ts'
import { durationMs } from '../base/text/duration.ts'
import { findBlob, lastRecord } from './log/read.ts'
import { checkRecord, parseLogRecord } from './log/record.ts'
import { attestedBy } from './manifest.ts'
import type { Medium, ReadableMedium } from './medium.ts'
import { type FoundRecord, SearchQuery } from './search-query.ts'
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
      for await (const record of searchLog(await medium.read(session.id), query, addBytes))
        yield { session, ...record }
    } catch (error) {
      if (!(error instanceof StintError) || onUnreadable === undefined) throw error
      // Sessions come and go: one that was removed meanwhile has no events.
      if (error.code !== 'NOT_FOUND') onUnreadable(session, error)
    }
  }
}

const newline = 0x0a
const blobField = ',"blob":{"sha256":"'

/**
 * Searches the journal of a session, newest record first. Bytes are compared first: a line is checked and
 * parsed only if a needle of the query is in it, or if it names a blob. `onBytes` is called with the size of
 * each piece that was searched.
 */
async function* searchLog(
  medium: ReadableMedium,
  query: SearchQuery,
  onBytes: (bytes: number) => void,
): AsyncGenerator<FoundRecord> {
  const needles = query.needles && [...query.needles, blobField].map((text) => Buffer.from(text))
  let lastWhole: number | undefined
  for await (const region of medium.regions('journal', { from: Number.MAX_SAFE_INTEGER, backwards: true })) {
    onBytes(region.bytes.length)
    for (const [start, end] of linesWith(region.bytes, needles).toReversed()) {
      await giveWay()
      const match = await findIn(medium, region.bytes.subarray(start, end), query, onBytes)
      if (match === undefined) continue
      // A writer may have died in the middle of the last append.
      lastWhole ??= (await lastRecord(medium, attestedBy(medium.manifest).seq))?.seq ?? 0
      if (match.seq <= lastWhole) yield match
    }
    await giveWay()
  }
}

/** Looks into the record of a line; undefined if the line is not intact. */
async function findIn(
  medium: ReadableMedium,
  line: Buffer,
  query: SearchQuery,
  onBytes: (bytes: number) => void,
): Promise<FoundRecord | undefined> {
  const header = checkRecord(line)
  if (header === undefined || header.at < query.since) return undefined
  const record = parseLogRecord(line)
  if (!query.wants(record)) return undefined
  const large = record.blob && (await findBlob(medium, record.blob))
  onBytes(large?.length ?? 0)
  const mayMatch = large !== undefined && query.mayBeIn(large)
  const data = mayMatch ? (JSON.parse(large.toString()) as unknown) : record.data
  const match = query.inRecord({ ...record, data })
  return match && { seq: header.seq, at: header.at, type: record.type, ...match }
}

/** The lines of a region that have a needle, each from its first byte to its newline; all without needles. */
function linesWith(region: Buffer, needles: readonly Buffer[] | undefined): [start: number, end: number][] {
  const lines = new Map<number, number>()
  const add = (at: number): number => {
    const end = region.indexOf(newline, at)
    if (end > at) lines.set(region.lastIndexOf(newline, at) + 1, end)
    return end < 0 ? region.length : end + 1
  }
  if (needles === undefined) for (let at = 0; at < region.length;) at = add(at)
  for (const needle of needles ?? [])
    for (let at = region.indexOf(needle); at >= 0;) at = region.indexOf(needle, add(at))
  return [...lines].sort(([a], [b]) => a - b)
}
