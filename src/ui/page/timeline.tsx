import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ActRow, EventPage, EventRow } from '../protocol.ts'
import { addressOf, now, useJson } from './api.ts'
import { countOf, shortDuration, shown, shownCount, shownLines } from './format.ts'
import { At, clock, Copy, Empty, Glyph, Loading } from './parts.tsx'
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
  if (data === undefined) return <Loading error={error} />
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
        {rowsOf(data, isHeld).map((row) => {
          const isChosen = chosen.value === row.key
          const onChoose = (): void => void (chosen.value = isChosen ? '' : row.key)
          const isTarget = row.seq !== undefined && String(row.seq) === at
          return <Row key={row.key} {...{ row, isTarget, isChosen, onChoose }} />
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

/** A row of the timeline: an event, an act with its outcome, or a note. */
interface TimelineRow {
  key: string
  at: number
  /** The number of an event. */
  seq?: number
  /** How an act ended; `late`: it has no outcome. */
  state?: 'note' | 'late' | 'ok' | 'failed'
  title: string
  text: string
  outcome?: string
  durationMs?: number
  detail: { title: string; text: string }
}

function Row({
  row,
  isTarget,
  isChosen,
  onChoose,
}: {
  row: TimelineRow
  isTarget: boolean
  isChosen: boolean
  onChoose: () => void
}) {
  const { seq, state, title, text, outcome, durationMs, at, detail } = row
  const looks = [
    'event',
    ...(title === 'Turn' ? ['turn'] : []),
    ...(isTarget ? ['target'] : []),
    ...(state === undefined ? [] : ['act']),
    ...(state === 'late' ? ['open'] : []),
  ]
  return (
    <li>
      <button
        type="button"
        class={looks.join(' ')}
        data-seq={seq}
        data-act={state}
        aria-expanded={isChosen}
        onClick={onChoose}
      >
        <span class="seq dim">{state === undefined ? (seq ?? '…') : <Glyph state={state} />}</span>
        <strong class="cut">{title}</strong>
        <bdi class="cut text">{text}</bdi>
        {outcome !== undefined && <span class="cut">{outcome}</span>}
        {durationMs !== undefined && <span class="dim">{shortDuration(durationMs)}</span>}
        <At class="time dim" at={at} />
      </button>
      {isChosen && <Detail {...detail} />}
    </li>
  )
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

/** Events in their order and each act behind the events before it; all newest first. */
export function rowsOf({ events, acts }: Pick<EventPage, 'events' | 'acts'>, isHeld: boolean): TimelineRow[] {
  const rows: TimelineRow[] = []
  const rest = [...acts]
  const addActsBefore = (at: number): void => {
    for (let act = rest[0]; act !== undefined && act.at < at; act = rest[0]) {
      rows.push(actRow(act, isHeld))
      rest.shift()
    }
  }
  for (const event of events) {
    addActsBefore(event.at)
    rows.push(eventRow(event))
  }
  addActsBefore(Number.POSITIVE_INFINITY)
  return rows.toReversed()
}

function eventRow({ seq, at, type, data, masked, cut }: EventRow): TimelineRow {
  const remarks = [
    ...(masked === true ? ['Secrets were replaced'] : []),
    ...(cut === undefined ? [] : [`the first of ${shownCount(cut)} characters`]),
  ]
  const text = typeof data === 'string' ? data : (JSON.stringify(data, null, 2) ?? '')
  const detail = { title: remarks.join('; '), text }
  return { key: `event ${seq}`, at, seq, title: typeText(type), text: eventText(data), detail }
}

/** An act: what it was to do, how it ended, and how long it took. While its session is held, it may go on. */
function actRow(act: ActRow, isHeld: boolean): TimelineRow {
  const { at, type, action, subject, outcome } = act
  const row = {
    key: `act ${act.act ?? act.seq} ${at}`,
    at,
    title: shown(action, 60),
    text: shown(subject ?? ''),
    detail: { title: 'Act', text: JSON.stringify(act, null, 2) },
  }
  if (type === 'note') return { ...row, state: 'note', outcome: 'Note' }
  if (outcome === null) return { ...row, state: 'late', outcome: isHeld ? 'No outcome yet' : 'No outcome' }
  const { ok, error, duration_ms: durationMs } = outcome
  if (ok) return { ...row, state: 'ok', outcome: 'Done', durationMs }
  return {
    ...row,
    state: 'failed',
    outcome: error === null ? 'Failed' : `Failed: ${shown(error)}`,
    durationMs,
  }
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
