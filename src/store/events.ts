import type { LogRecord } from '../journal/record.ts'
import { ownPrefix } from './state.ts'
import type { EventOptions, SessionEvent } from './store.ts'

/** What a reader of a session sees of its records. */
export async function* visibleEvents(
  records: AsyncIterable<LogRecord>,
  { type, all = false }: EventOptions,
): AsyncIterable<SessionEvent> {
  for await (const record of records) if (isVisible(record, type, all)) yield eventOf(record)
}

/** The newest that are visible, oldest first. */
export async function takeLatest(
  backwards: AsyncIterable<LogRecord>,
  count: number,
  { type, all = false }: EventOptions = {},
): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  if (count <= 0) return events
  for await (const record of backwards) {
    if (!isVisible(record, type, all)) continue
    events.push(eventOf(record))
    if (events.length === count) break
  }
  return events.toReversed()
}

const isVisible = (record: LogRecord, type: string | undefined, all: boolean): boolean =>
  type === undefined ? all || !record.type.startsWith(ownPrefix) : record.type === type

const eventOf = ({ seq, at, type, data, slot }: LogRecord): SessionEvent =>
  slot === undefined ? { seq, at, type, data } : { seq, at, type, data: { ...slot, value: data } }
