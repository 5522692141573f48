import { setTimeout as delay } from 'node:timers/promises'
import { StintError } from '../base/errors/stint-error.ts'
import type { LogName } from './log/codec.ts'
import { type LogRange, readBackwards, readRecords } from './log/read.ts'
import type { StoredRecord } from './log/record.ts'
import { recoverLogs } from './log/recover.ts'
import { verifyLogs } from './log/verify.ts'
import { attestedBy } from './manifest.ts'
import type { Medium, ReadableMedium } from './medium.ts'
import { auditRecordOf, ownPrefix } from './state.ts'
import type { AuditRecord, EventOptions, FollowOptions, Inspection, SessionEvent } from './store.ts'

/** The records of a session, held or not. */
interface SessionRecords {
  /** Reads a log in order, up to the first record that is missing or damaged. */
  records(log: LogName, range?: LogRange): AsyncIterable<StoredRecord>
  /** Reads the journal from its end. */
  newestFirst(): AsyncIterable<StoredRecord>
}

/** Reads a session. */
export function inspectionOf(medium: ReadableMedium): Inspection {
  const { manifest } = medium
  // A fork may end within an append of several records: its manifest says that they count.
  const attested = attestedBy(manifest).seq
  const session: SessionRecords = {
    records: (log, range) => readRecords(medium, log, { ...range, attested }),
    newestFirst: () => readBackwards(medium, 'journal', { attested }),
  }
  return {
    // A medium may have to read for it, and most callers need other things.
    get summary() {
      return medium.summary
    },
    manifest,
    health: (onBytes) => verifyLogs(medium, onBytes),
    events: (options = {}) => visibleEvents(session, options),
    tail: (count, options) => readLatest(session, count, options),
    audit: (range) => readAudit(session, range),
    async unsettled() {
      const { unsettled } = (await recoverLogs(medium)).state
      return [...unsettled.values()]
    },
    async slots() {
      const { slots } = (await recoverLogs(medium)).state
      return Object.fromEntries([...slots].map(([ext, { version, value }]) => [ext, { version, value }]))
    },
  }
}

async function* readAudit(session: SessionRecords, range: LogRange = {}): AsyncGenerator<AuditRecord> {
  for await (const record of session.records('audit', checkedRange(range))) yield auditRecordOf(record)
}

/** The events of a session that match the options, oldest or newest first. */
export async function* visibleEvents(
  session: SessionRecords,
  { type, all = false, newestFirst = false, ...range }: EventOptions,
): AsyncGenerator<SessionEvent> {
  const { from = 1, to = Number.POSITIVE_INFINITY } = checkedRange(range)
  const records = newestFirst ? session.newestFirst() : session.records('journal', { from, to })
  for await (const record of records) {
    if (newestFirst && record.seq < from) return
    if (record.seq <= to && isVisible(record, type, all)) yield eventOf(record)
  }
}

/** The newest matching events, oldest first. */
export async function readLatest(
  session: SessionRecords,
  count: number,
  { type, all }: EventOptions = {},
): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  if (!Number.isSafeInteger(count)) throw notWhole('number of events', count)
  if (count <= 0) return events
  for await (const event of visibleEvents(session, { type, all, newestFirst: true }))
    if (events.push(event) === count) break
  return events.toReversed()
}

/** Validates a range; a `from` before the first record means the first record. */
function checkedRange({ from, to }: LogRange): LogRange {
  for (const seq of [from, to])
    if (seq !== undefined && !Number.isSafeInteger(seq)) throw notWhole('number of a record', seq)
  return { from: from === undefined ? undefined : Math.max(1, from), to }
}

const notWhole = (what: string, value: unknown): StintError =>
  new StintError('ARG_ERROR', `the ${what} must be a whole number, not ${String(value).slice(0, 60)}`)

/** Is a record shown? stint's own records are shown if all are, or if their type is asked for. */
export const isVisible = (
  record: Pick<StoredRecord, 'type'>,
  type: string | undefined,
  all: boolean,
): boolean => (type === undefined ? all || !record.type.startsWith(ownPrefix) : record.type === type)

export function eventOf({ seq, at, type, data, slot, masked }: StoredRecord): SessionEvent {
  const event: SessionEvent = { seq, at, type, data: slot === undefined ? data : { ...slot, value: data } }
  if (masked) event.masked = true
  return event
}

/** How often to look for more records, in milliseconds. */
const lookMs = 200

/**
 * Yields the events from a record on as they are written, across segments and writers, until the signal
 * aborts. `NOT_FOUND` once the session is removed.
 */
export async function* followEvents(
  medium: Medium,
  session: ReadableMedium,
  { from = 1, type, all = false, signal = new AbortController().signal }: FollowOptions,
): AsyncGenerator<SessionEvent> {
  const { events, manifest } = inspectionOf(session)
  let next = from
  while (!signal.aborted) {
    for await (const event of events({ from: next, all: true })) {
      next = event.seq + 1
      if (isVisible(event, type, all)) yield event
    }
    await medium.read(manifest.session_id)
    // A pause that the signal ends rejects.
    await delay(lookMs, undefined, { signal }).catch(() => {})
  }
}
