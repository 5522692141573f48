import { StintError } from '../base/errors/stint-error.ts'
import type { LogName } from './log/codec.ts'
import type { StoredRecord } from './log/record.ts'
import { ownPrefix } from './state.ts'
import type { EventOptions, SessionEvent } from './store.ts'

/** The first and the last `seq` to read; all by default. */
export interface RecordRange {
  from?: number
  to?: number
}

/** The records of a session, held or not. */
export interface SessionRecords {
  /** Reads a log in order, up to the first record that is missing or damaged. */
  records(log: LogName, range?: RecordRange): AsyncIterable<StoredRecord>
  /** Reads the journal from its end. */
  newestFirst(): AsyncIterable<StoredRecord>
}

/** The events of a session that match the options, in order. */
export async function* visibleEvents(
  session: SessionRecords,
  { type, all = false, newestFirst: isReversed = false, ...range }: EventOptions,
): AsyncIterable<SessionEvent> {
  const checked = checkedRange(range)
  const records = isReversed ? recordsBackwards(session, checked) : session.records('journal', checked)
  for await (const record of records) if (isVisible(record, type, all)) yield eventOf(record)
}

/** The records of a range of the journal from its end. */
async function* recordsBackwards(
  session: SessionRecords,
  { from = 1, to = Number.POSITIVE_INFINITY }: RecordRange,
): AsyncGenerator<StoredRecord> {
  for await (const record of session.newestFirst()) {
    if (record.seq < from) return
    if (record.seq <= to) yield record
  }
}

/** The newest matching events, oldest first. */
export async function readLatest(
  newest: AsyncIterable<StoredRecord>,
  count: number,
  { type, all = false }: EventOptions = {},
): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  if (!Number.isSafeInteger(count)) throw notWhole('number of events', count)
  if (count <= 0) return events
  for await (const record of newest) {
    if (!isVisible(record, type, all)) continue
    events.push(eventOf(record))
    if (events.length === count) break
  }
  return events.toReversed()
}

/** Validates a range; a `from` before the first record means the first record. */
export function checkedRange({ from, to }: RecordRange): RecordRange {
  for (const seq of [from, to])
    if (seq !== undefined && !Number.isSafeInteger(seq)) throw notWhole('number of a record', seq)
  return { ...(from === undefined ? {} : { from: Math.max(1, from) }), ...(to === undefined ? {} : { to }) }
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
