import { useEffect } from 'preact/hooks'
import type { ActRow, EventPage, EventRow } from '../server/protocol.ts'
import { addressOf, now, pollMs, useJson } from './api.ts'
import { countOf, shortDuration, shown, shownCount, shownLines } from './format.ts'
import { At, Empty, Glyph, Loading, Pager } from './parts.tsx'
import { route } from './route.ts'

/** Events that are shown at once. */
const pageSize = 200

/**
 * The newest events of a session and its acts among them, newest first, as they are written; or older ones,
 * from which `at` leads to one.
 */
export function Timeline({ id, isHeld }: { id: string; isHeld: boolean }) {
  const { at, before = at === undefined ? undefined : String(Number(at) + pageSize / 2) } = route.value.query
  const address = addressOf('/api/events', { id, before, limit: pageSize })
  const [everyMs, version] = before === undefined ? followed(id) : []
  const { data, error } = useJson<EventPage>(address, everyMs, version)
  useEffect(
    () => document.querySelector('.event.target')?.scrollIntoView({ block: 'center' }),
    [at, data === undefined],
  )
  if (data === undefined) return <Loading error={error} />
  const { events, acts_left_out: leftOut } = data
  if (events.length + data.acts.length === 0)
    return <Empty title="Nothing was recorded yet.">Events appear here as they are written.</Empty>
  const oldest = events[0]?.seq ?? 1
  const steps = {
    Older: oldest > 1 ? { before: String(oldest), at: '' } : null,
    Newest: before !== undefined ? { before: '', at: '' } : null,
  }
  return (
    <section>
      <h2>
        Timeline
        <span class="dim">{countOf(data.last, 'event')}</span>
      </h2>
      <ol class="panel timeline" aria-label="Timeline">
        {rowsOf(data).map((row) =>
          'action' in row ? (
            <ActLine key={`act ${row.seq}`} act={row} isHeld={isHeld} />
          ) : (
            <EventLine key={row.seq} event={row} isTarget={String(row.seq) === at} />
          ),
        )}
      </ol>
      <Pager steps={steps}>
        {leftOut > 0 && `${shownCount(leftOut)} earlier acts of this time are not shown.`}
      </Pager>
    </section>
  )
}

/** Events in their order and each act behind the events before it; all newest first. */
export function rowsOf({ events, acts }: Pick<EventPage, 'events' | 'acts'>): (EventRow | ActRow)[] {
  const rows: (EventRow | ActRow)[] = []
  const rest = [...acts]
  for (const event of events) {
    while (rest[0] !== undefined && rest[0].at < event.at) rows.push(...rest.splice(0, 1))
    rows.push(event)
  }
  return [...rows, ...rest].toReversed()
}

function EventLine({ event, isTarget }: { event: EventRow; isTarget: boolean }) {
  const { seq, at, type, data, masked, cut } = event
  const remarks = [
    ...(masked === true ? ['Secrets were replaced'] : []),
    ...(cut === undefined ? [] : [`the first of ${shownCount(cut)} characters`]),
  ]
  const text = typeof data === 'string' ? data : (JSON.stringify(data, null, 2) ?? '')
  return (
    <li>
      <details open={isTarget}>
        <summary
          class={`line event${type === 'stint.turn' ? ' turn' : ''}${isTarget ? ' target' : ''}`}
          data-seq={seq}
        >
          <span class="seq dim">{seq}</span>
          <strong class="cut">{typeText(type)}</strong>
          <bdi class="cut text">{eventText(data)}</bdi>
          <At class="time dim" at={at} />
        </summary>
        <div class="detail">
          {remarks.length > 0 && <p class="small dim">{remarks.join('; ')}</p>}
          <pre tabIndex={0}>{shownLines(text)}</pre>
        </div>
      </details>
    </li>
  )
}

/** An act: what it was to do, how it ended, and how long it took. While its session is held, it may go on. */
function ActLine({ act, isHeld }: { act: ActRow; isHeld: boolean }) {
  const { at, action, subject, outcome } = act
  const [state, result] = resultOf(act, isHeld)
  return (
    <li>
      <details>
        <summary class={`line event act${state === 'late' ? ' open' : ''}`}>
          <span class="seq">
            <Glyph state={state} />
          </span>
          <strong class="cut">{shown(action, 60)}</strong>
          <bdi class="cut text">{shown(subject ?? '')}</bdi>
          <span class="cut">{result}</span>
          {outcome !== null && <span class="dim">{shortDuration(outcome.duration_ms)}</span>}
          <At class="time dim" at={at} />
        </summary>
        <div class="detail">
          <pre tabIndex={0}>{shownLines(JSON.stringify(act, null, 2))}</pre>
        </div>
      </details>
    </li>
  )
}

/** How an act ended: its state, and in words. */
function resultOf({ type, outcome }: ActRow, isHeld: boolean): [state: string, text: string] {
  if (type === 'note') return ['note', 'Note']
  if (outcome === null) return ['late', isHeld ? 'No outcome yet' : 'No outcome']
  if (outcome.ok) return ['ok', 'Done']
  return ['failed', outcome.error === null ? 'Failed' : `Failed: ${shown(outcome.error)}`]
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
const typeText = (type: string): string =>
  type === 'stint.turn' ? 'Turn' : type === 'stint.slot' ? 'Slot' : shown(type, 60)

/**
 * How to follow a session that may be written, for `useJson`: whenever its tile shows something new, and
 * all the time while a process has it open.
 */
export function followed(id: string): [everyMs?: number, version?: string] {
  const tile = now.value?.tiles.find(({ session_id }) => session_id === id)
  if (tile === undefined) return []
  return [tile.recorded === 'active' ? pollMs : undefined, `${tile.recorded} ${tile.pid} ${tile.last_at}`]
}
