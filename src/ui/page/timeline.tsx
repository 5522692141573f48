import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { ActRow } from '../protocol.ts'
import { At } from './clock.tsx'
import { eventText, typeText } from './event-text.ts'
import type { EventWindow, TimelineEvent, TimelineRow } from './event-window.ts'
import { shortDuration, shown } from './format.ts'
import { rowsInView, scrollHeightOf, scrollTopOf } from './scroll-window.ts'
import { Glyph } from './state-mark.tsx'

/** The height of a row in the stylesheet. */
const rowHeight = 36

/**
 * The records of a session. It starts at the record `at`, or follows the end; it follows again when it is
 * scrolled to the end.
 */
export function Timeline({
  window: events,
  at,
  onChoose,
}: {
  window: EventWindow
  at: number | undefined
  onChoose: (event: TimelineEvent) => void
}) {
  const frame = useRef<HTMLDivElement>(null)
  const scrollTop = useSignal(0)
  const viewHeight = useSignal(600)
  const follows = useRef(at === undefined)
  const scroller = useComputed(() => ({ rowHeight, viewHeight: viewHeight.value, rows: events.rows }))
  const inView = useComputed(() => rowsInView(scrollTop.value, scroller.value))

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => (viewHeight.value = entry?.contentRect.height ?? 600))
    if (frame.current !== null) observer.observe(frame.current)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    if (at !== undefined && frame.current !== null && events.rows > 0)
      frame.current.scrollTop = scrollTopOf(at - events.first.peek(), scroller.peek())
  }, [at, events.rows > 0])
  useEffect(() => {
    if (follows.current && frame.current !== null) frame.current.scrollTop = frame.current.scrollHeight
  }, [events.rows, viewHeight.value])

  const { first, end, offset } = inView.value
  useEffect(() => events.want(first, end), [first, end])
  // The rows are drawn again when events come.
  void events.version.value

  const onScroll = (): void => {
    const { scrollTop: top = 0, scrollHeight = 0, clientHeight = 0 } = frame.current ?? {}
    scrollTop.value = top
    follows.current = top + clientHeight >= scrollHeight - 4
  }
  return (
    <div class="timeline" ref={frame} onScroll={onScroll} tabIndex={0} role="group" aria-label="Timeline">
      <div class="view">
        {Array.from({ length: end - first }, (_, index) => (
          <Row
            key={first + index}
            row={events.rowAt(first + index)}
            seq={events.first.value + first + index}
            isLoaded={events.isLoaded(first + index)}
            isTarget={events.first.value + first + index === at}
            top={offset + index * rowHeight}
            onChoose={onChoose}
          />
        ))}
      </div>
      <div style={{ height: `${scrollHeightOf(scroller.value)}px` }} />
    </div>
  )
}

interface RowProps {
  row: TimelineRow | undefined
  seq: number
  isLoaded: boolean
  isTarget: boolean
  top: number
  onChoose: (event: TimelineEvent) => void
}

function Row({ row, seq, isLoaded, isTarget, top, onChoose }: RowProps) {
  const style = { transform: `translateY(${top}px)` }
  if (row === undefined)
    return (
      <div class="event" style={style}>
        <span class="seq">{seq}</span>
        <span class="dim">{isLoaded ? 'not readable' : '…'}</span>
      </div>
    )
  const { event, acts } = row
  const isTurn = event.type === 'stint.turn'
  return (
    <button
      type="button"
      class={`event${isTurn ? ' turn' : ''}${isTarget ? ' target' : ''}`}
      style={style}
      data-item
      data-seq={seq}
      aria-expanded={isTarget}
      onClick={() => onChoose(event)}
    >
      <span class="seq">{seq}</span>
      <span class="type cut">{typeText(event.type)}</span>
      <span class="cut">
        <bdi>{eventText(event.data)}</bdi>
      </span>
      <span class="right acts">
        {acts.slice(0, 2).map((act) => (
          <ActChip key={act.act ?? act.at} act={act} />
        ))}
        {acts.length > 2 && <span class="dim small">+{acts.length - 2}</span>}
      </span>
      <span class="time">
        <At at={event.at} />
      </span>
    </button>
  )
}

/** The state of an act: done, failed, or without an outcome. */
export const actState = ({ type, outcome }: ActRow): string => {
  if (type === 'note') return 'note'
  if (outcome === null) return 'late'
  return outcome.ok ? 'ok' : 'failed'
}

export function ActChip({ act }: { act: ActRow }) {
  const state = actState(act)
  return (
    <span class="act state" data-state={state}>
      <Glyph state={state} />
      {shown(act.action, 40)}
      {state === 'late' && <span> no outcome</span>}
      {act.outcome !== null && <span class="dim">{shortDuration(act.outcome.duration_ms)}</span>}
    </span>
  )
}
