import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { ActRow } from '../protocol.ts'
import { OutcomeText, actState } from './outcome-text.tsx'
import { At } from './clock.tsx'
import { eventText, typeText } from './event-text.ts'
import type { EventWindow, TimelineEvent, TimelineRow } from './event-window.ts'
import { shown, shownCount } from './format.ts'
import { rowsInView, scrollHeightOf, scrollTopOf } from './scroll-window.ts'
import { Glyph } from './state-mark.tsx'

/** The height of a row in the stylesheet. */
const rowHeight = 36

/** What is shown in full below the timeline. */
export type Chosen = Exclude<TimelineRow, { leftOut: number }>

interface TimelineProps {
  window: EventWindow
  /** The record to begin at; undefined to begin at the end. */
  at: number | undefined
  chosen: Chosen | undefined
  /** Whether a process holds the session, so that an act may still get its outcome. */
  isHeld: boolean
  /** Where all acts are. */
  actsLink: string
  onChoose: (chosen: Chosen) => void
}

/**
 * The records and acts of a session. It starts at the record `at`, or follows the end; it follows again when
 * it is scrolled to the end.
 */
export function Timeline({ window: events, at, chosen, isHeld, actsLink, onChoose }: TimelineProps) {
  const frame = useRef<HTMLDivElement>(null)
  const scrollTop = useSignal(0)
  const viewHeight = useSignal(600)
  /** Where it stays while rows come: the end, a record, or where the person has scrolled to. */
  const stays = useRef<'end' | 'record' | 'here'>(at === undefined ? 'end' : 'record')
  const scroller = useComputed(() => {
    void events.version.value
    return {
      rowHeight,
      viewHeight: viewHeight.value,
      groups: events.groups,
      rows: events.rows,
      sizeOf: (group: number) => events.sizeOf(group),
      isExact: events.isShort,
    }
  })
  const inView = useComputed(() => rowsInView(scrollTop.value, scroller.value))

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => (viewHeight.value = entry?.contentRect.height ?? 600))
    if (frame.current !== null) observer.observe(frame.current)
    return () => observer.disconnect()
  }, [])
  /** A record that was chosen by a click is in view already. */
  const clicked = useRef<number | undefined>(undefined)
  useEffect(() => {
    if (at !== undefined && at !== clicked.current) stays.current = 'record'
  }, [at])
  useEffect(() => {
    const { current } = frame
    if (current === null || stays.current === 'here') return
    if (stays.current === 'end') current.scrollTop = current.scrollHeight
    else if (at !== undefined)
      current.scrollTop = scrollTopOf(at - 1, events.rowOfRecord(at - 1), scroller.value)
    // Rounded as the browser does it: the event of this change is told from one of the person.
    scrollTop.value = current.scrollTop
  }, [at, scroller.value])

  const rows = inView.value
  const [first, end] = [rows[0]?.group ?? 0, (rows.at(-1)?.group ?? 0) + 1]
  useEffect(() => events.want(first, end), [first, end, events.groups])

  const onScroll = (): void => {
    const { scrollTop: top = 0, scrollHeight = 0, clientHeight = 0 } = frame.current ?? {}
    if (top === scrollTop.peek()) return
    scrollTop.value = top
    stays.current = top + clientHeight >= scrollHeight - 4 ? 'end' : 'here'
  }
  return (
    <div class="timeline" ref={frame} onScroll={onScroll} tabIndex={0} role="group" aria-label="Timeline">
      <div class="view">
        {rows.map(({ group, row, top }) => {
          const style = { transform: `translateY(${top}px)` }
          const shownRow = events.rowAt(group, row)
          const key = `${group} ${row}`
          if (shownRow === undefined)
            return <MissingRow key={key} seq={group + 1} isLoaded={events.isLoaded(group)} style={style} />
          if ('leftOut' in shownRow)
            return <LeftOut key={key} count={shownRow.leftOut} link={actsLink} style={style} />
          const choose = (): void => {
            stays.current = 'here'
            clicked.current = 'event' in shownRow ? shownRow.event.seq : undefined
            onChoose(shownRow)
          }
          const common = { style, onChoose: choose }
          if ('act' in shownRow) {
            const isChosen = chosen !== undefined && 'act' in chosen && chosen.act === shownRow.act
            return <ActLine key={key} act={shownRow.act} isHeld={isHeld} isChosen={isChosen} {...common} />
          }
          return <EventLine key={key} event={shownRow.event} isTarget={group + 1 === at} {...common} />
        })}
      </div>
      <div style={{ height: `${scrollHeightOf(scroller.value)}px` }} />
    </div>
  )
}

interface LineProps {
  style: { transform: string }
  onChoose: () => void
}

function MissingRow({ seq, isLoaded, style }: Pick<LineProps, 'style'> & { seq: number; isLoaded: boolean }) {
  return (
    <div class="event" style={style}>
      <span class="seq">{seq}</span>
      <span class="dim">{isLoaded ? 'not readable' : '…'}</span>
    </div>
  )
}

function LeftOut({ count, link, style }: Pick<LineProps, 'style'> & { count: number; link: string }) {
  return (
    <div class="event act" style={style}>
      <a href={link}>{shownCount(count)} earlier acts</a>
    </div>
  )
}

function EventLine({
  event,
  isTarget,
  style,
  onChoose,
}: LineProps & { event: TimelineEvent; isTarget: boolean }) {
  const isTurn = event.type === 'stint.turn'
  return (
    <button
      type="button"
      class={`event${isTurn ? ' turn' : ''}${isTarget ? ' target' : ''}`}
      style={style}
      data-item
      data-seq={event.seq}
      aria-expanded={isTarget}
      onClick={onChoose}
    >
      <span class="seq">{event.seq}</span>
      <span class="type cut">{typeText(event.type)}</span>
      <span class="cut">
        <bdi>{eventText(event.data)}</bdi>
      </span>
      <span class="time">
        <At at={event.at} />
      </span>
    </button>
  )
}

/** An act: what it was to do, how it ended, and how long it took. */
function ActLine({
  act,
  isHeld,
  isChosen,
  style,
  onChoose,
}: LineProps & { act: ActRow; isHeld: boolean; isChosen: boolean }) {
  const state = actState(act)
  return (
    <button
      type="button"
      class={`event act${state === 'late' ? ' open' : ''}`}
      style={style}
      data-item
      data-act={state}
      aria-expanded={isChosen}
      onClick={onChoose}
    >
      <Glyph state={state} />
      <span class="type cut">{shown(act.action, 60)}</span>
      <span class="cut">
        <bdi>{shown(act.subject ?? '')}</bdi>
      </span>
      <OutcomeText act={act} isHeld={isHeld} />
      <span class="time">
        <At at={act.at} />
      </span>
    </button>
  )
}
