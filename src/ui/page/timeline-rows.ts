import type { ActRow, EventPage, EventRow } from '../protocol.ts'
import { shown } from './format.ts'

/** A row of the timeline: an event, or an act or note. */
export type TimelineRow = { key: string } & ({ event: EventRow } | { act: ActRow })

/** Events in their order and each act behind the events before it; all newest first. */
export function rowsOf({ events, acts }: Pick<EventPage, 'events' | 'acts'>): TimelineRow[] {
  const rows: TimelineRow[] = []
  const rest = [...acts]
  const addActsBefore = (at: number): void => {
    for (let act = rest[0]; act !== undefined && act.at < at; act = rest[0]) {
      rows.push({ key: `act ${act.act ?? act.seq} ${act.at}`, act })
      rest.shift()
    }
  }
  for (const event of events) {
    addActsBefore(event.at)
    rows.push({ key: `event ${event.seq}`, event })
  }
  addActsBefore(Number.POSITIVE_INFINITY)
  return rows.toReversed()
}

/** Fields that say what an event is about, the best first. */
const tellingFields =
  'text message prompt title command summary content tool_name tool name path file_path ext'.split(' ')

/** One line that says what an event is about: its telling field, or its JSON. */
export function eventText(data: unknown): string {
  if (typeof data === 'string') return shown(data)
  if (typeof data !== 'object' || data === null) return data === undefined ? '' : shown(String(data))
  const fields = data as Record<string, unknown>
  const telling = tellingFields.map((name) => fields[name]).find((value) => typeof value === 'string')
  return shown(typeof telling === 'string' ? telling : JSON.stringify(data))
}

/** The type of an event, in words for those of stint itself. */
export const typeText = (type: string): string =>
  type === 'stint.turn' ? 'Turn' : type === 'stint.slot' ? 'Slot' : shown(type, 60)
