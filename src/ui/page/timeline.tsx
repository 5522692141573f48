import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ActRow, EventPage, EventRow } from '../protocol.ts'
import { addressOf, now, useJson } from './api.ts'
import { countOf, shortDuration, shown, shownCount, shownLines } from './format.ts'
import { At, clock, Copy, Empty, ErrorBox, Glyph } from './parts.tsx'
import { choose, route } from './route.ts'

/** Events that are shown at once. */
const pageSize = 200

/**
 * The newest events of a session and its acts among them, newest first, as they are written; or older ones,
 * from which `at` leads to one.
 */
export function Timeline({ path, id, isHeld }: { path: string; id: string; isHeld: boolean }) {
  const { at, before = at === undefined ? undefined : String(Number(at) + pageSize / 2) } = route.value.query
  const address = addressOf(`${path}/events`, { before, limit: pageSize })
  const { data, error } = useJson<EventPage>(address, before === undefined ? recordsVersion(id) : '')
  const chosen = useSignal(at === undefined ? '' : `event ${at}`)
  useEffect(
    () => document.querySelector('.event.target')?.scrollIntoView({ block: 'center' }),
    [at, data === undefined],
  )
  if (data === undefined)
    return error === undefined ? <p class="dim">Loading…</p> : <ErrorBox error={error} />
  if (data.events.length + data.acts.length === 0)
    return <Empty title="Nothing was recorded yet.">Events appear here as they are written.</Empty>
  const oldest = data.events.find(({ seq }) => seq !== undefined)?.seq ?? 1
  return (
    <section>
      <h2>
        Timeline
        <span class="dim">{countOf(data.last, 'event')}</span>
      </h2>
      <ol class="panel timeline" aria-label="Timeline">
        {rowsOf(data).map((row) => {
          const isChosen = chosen.value === row.key
          const onChoose = (): void => void (chosen.value = isChosen ? '' : row.key)
          return <Row key={row.key} {...{ row, at, isHeld, isChosen, onChoose }} />
        })}
      </ol>
      <p class="pager small dim">
        {data.acts_left_out > 0 &&
          `${shownCount(data.acts_left_out)} earlier acts of this time are not shown. `}
        {oldest > 1 && (
          <button type="button" onClick={() => choose({ before: String(oldest), at: '' })}>
            Older
          </button>
        )}
        {before !== undefined && (
          <button type="button" onClick={() => choose({ before: '', at: '' })}>
            Newest
          </button>
        )}
      </p>
    </section>
  )
}

interface LineProps {
  isChosen: boolean
  onChoose: () => void
}

/** An event or an act, and all of it while it is chosen. */
function Row({
  row,
  at,
  isHeld,
  ...line
}: LineProps & { row: TimelineRow; at: string | undefined; isHeld: boolean }) {
  if ('act' in row)
    return (
      <li>
        <ActLine act={row.act} isHeld={isHeld} {...line} />
        {line.isChosen && <Detail title="Act" text={JSON.stringify(row.act, null, 2)} />}
      </li>
    )
  return (
    <li>
      <EventLine event={row.event} isTarget={String(row.event.seq) === at} {...line} />
      {line.isChosen && <EventDetail event={row.event} />}
    </li>
  )
}

function EventLine({
  event,
  isTarget,
  isChosen,
  onChoose,
}: LineProps & { event: EventRow; isTarget: boolean }) {
  return (
    <button
      type="button"
      class={`event${event.type === 'stint.turn' ? ' turn' : ''}${isTarget ? ' target' : ''}`}
      data-seq={event.seq}
      aria-expanded={isChosen}
      onClick={onChoose}
    >
      <span class="seq dim">{event.seq ?? '…'}</span>
      <strong class="cut">{typeText(event.type)}</strong>
      <bdi class="cut text">{eventText(event.data)}</bdi>
      <At class="time dim" at={event.at} />
    </button>
  )
}

/** The state of an act: done, failed, or without an outcome. */
function stateOf({ type, outcome }: ActRow): 'note' | 'late' | 'ok' | 'failed' {
  if (type === 'note') return 'note'
  if (outcome === null) return 'late'
  return outcome.ok ? 'ok' : 'failed'
}

/** An act: what it was to do, how it ended, and how long it took. */
function ActLine({ act, isHeld, isChosen, onChoose }: LineProps & { act: ActRow; isHeld: boolean }) {
  const state = stateOf(act)
  const { error = null, duration_ms = 0 } = act.outcome ?? {}
  const texts = {
    note: 'Note',
    late: isHeld ? 'No outcome yet' : 'No outcome',
    ok: 'Done',
    failed: error === null ? 'Failed' : `Failed: ${shown(error)}`,
  }
  return (
    <button
      type="button"
      class={`event act${state === 'late' ? ' open' : ''}`}
      data-act={state}
      aria-expanded={isChosen}
      onClick={onChoose}
    >
      <span class="seq dim">
        <Glyph state={state} />
      </span>
      <strong class="cut">{shown(act.action, 60)}</strong>
      <bdi class="cut text">{shown(act.subject ?? '')}</bdi>
      <span class="cut">{texts[state]}</span>
      {act.outcome !== null && <span class="dim">{shortDuration(duration_ms)}</span>}
      <At class="time dim" at={act.at} />
    </button>
  )
}

function EventDetail({ event: { data, cut, masked } }: { event: EventRow }) {
  const text = typeof data === 'string' ? data : (JSON.stringify(data, null, 2) ?? '')
  const remarks = [
    ...(masked === true ? ['Secrets were replaced'] : []),
    ...(cut === undefined ? [] : [`the first of ${shownCount(cut)} characters`]),
  ]
  return <Detail title={remarks.join('; ')} text={text} />
}

function Detail({ title, text }: { title: string; text: string }) {
  return (
    <div class="detail">
      <p class="line small dim">
        {title}
        <span class="right">
          <Copy text={text} />
        </span>
      </p>
      <pre tabIndex={0}>{shownLines(text)}</pre>
    </div>
  )
}

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

/** How often a session that is being written is read again, in milliseconds. */
const recordsMs = 2000

/** Changes whenever the state of a session does, and every two seconds while a process holds the session. */
export function recordsVersion(id: string): string {
  const tile = now.value?.tiles.find(({ session_id }) => session_id === id)
  const turn = tile?.recorded === 'active' ? Math.floor(clock.value / recordsMs) : ''
  return tile === undefined ? '' : `${tile.recorded} ${tile.pid} ${tile.last_at} ${turn}`
}
