import type { LogRecord } from './log/record.ts'
import { StintError } from '../base/errors/stint-error.ts'
import { ownPrefix } from './state.ts'
import type { EventOptions, SessionEvent } from './store.ts'

/** What a reader of a session sees of its records. */
export async function* visibleEvents(
  read: (range: { from?: number; to?: number }) => AsyncIterable<LogRecord>,
  { type, all = false, ...range }: EventOptions,
): AsyncIterable<SessionEvent> {
  for await (const record of read(checkedRange(range)))
    if (isVisible(record, type, all)) yield eventOf(record)
}

/** The newest that are visible, oldest first. */
export async function takeLatest(
  backwards: AsyncIterable<LogRecord>,
  count: number,
  { type, all = false }: EventOptions = {},
): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  if (!Number.isSafeInteger(count)) throw noNumber('number of events', count)
  if (count <= 0) return events
  for await (const record of backwards) {
    if (!isVisible(record, type, all)) continue
    events.push(eventOf(record))
    if (events.length === count) break
  }
  return events.toReversed()
}

/** From before the first is from the first on. */
function checkedRange({ from, to }: { from?: number; to?: number }): { from?: number; to?: number } {
  for (const seq of [from, to])
    if (seq !== undefined && !Number.isSafeInteger(seq)) throw noNumber('number of a record', seq)
  return { ...(from === undefined ? {} : { from: Math.max(1, from) }), ...(to === undefined ? {} : { to }) }
}

const noNumber = (what: string, value: unknown): StintError =>
  new StintError('ARG_ERROR', `the ${what} must be a whole number, not ${String(value).slice(0, 60)}`)

/** Does a reader see it? Of what stint itself has journaled only what is asked for by its type, or all. */
export const isVisible = (record: Pick<LogRecord, 'type'>, type: string | undefined, all: boolean): boolean =>
  type === undefined ? all || !record.type.startsWith(ownPrefix) : record.type === type

const eventOf = ({ seq, at, type, data, slot }: LogRecord): SessionEvent =>
  slot === undefined ? { seq, at, type, data } : { seq, at, type, data: { ...slot, value: data } }
