import { useSignal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { ActRow, EventPage, SessionView, Streams } from '../protocol.ts'
import { ActionButton } from './actions.tsx'
import { addressOf, getJson } from './api.ts'
import { Ago } from './clock.tsx'
import { EventWindow, type TimelineEvent } from './event-window.ts'
import { formatBytes, shown, shownCount, shownLines } from './format.ts'
import { follow } from './live.ts'
import { now } from './now-state.ts'
import { Choices, Copy, Empty, Place, ErrorBox } from './parts.tsx'
import { choose, goTo, linkTo, route } from './route.ts'
import { ActList, Unsettled } from './session-acts.tsx'
import { Forks, Slots, Verify } from './session-side.tsx'
import { closeAction } from './session-tile.tsx'
import { StateMark } from './state-mark.tsx'
import { type Chosen, Timeline } from './timeline.tsx'
import { useJson } from './use-json.ts'

/** Audit lines that come within this time are one change, in milliseconds. */
const settleMs = 300

type FollowedLine = Streams['GET /api/sessions/:id/follow']

/** One session: its timeline, its acts, and what to do with it. It follows the session live. */
export function SessionDetail({ id }: { id: string }) {
  const path = `/api/sessions/${encodeURIComponent(id)}`
  const events = useMemo(() => new EventWindow(id), [id])
  /** The newest audit line, a moment after it has come: many that come together are one change. */
  const line = useSignal(0)
  useEffect(() => {
    const timer = setTimeout(() => (line.value = events.lastLine.peek()), settleMs)
    return () => clearTimeout(timer)
  }, [events.lastLine.value])
  const stateNow = now.value?.tiles.find(({ session_id }) => session_id === id)?.recorded ?? ''
  const { state, reload } = useJson<SessionView>(path, `${stateNow} ${line.value}`)
  useEffect(() => {
    // A stream is opened after the end is known, so that it brings only what comes later.
    let stop = (): void => undefined
    let isClosed = false
    void events.open().then(() => {
      if (isClosed) return
      stop = follow<FollowedLine>(
        () =>
          addressOf(`${path}/follow`, { from: events.last.peek() + 1, audit: events.lastLine.peek() + 1 }),
        (line) => events.add(line),
      )
    })
    return () => {
      isClosed = true
      stop()
      events.close()
    }
  }, [events])

  const { data, error } = state.value
  if (data === undefined)
    return error === undefined ? <p class="dim">Loading…</p> : <ErrorBox error={error} />
  return (
    <>
      <Head view={data} onChange={reload} />
      <Unsettled unsettled={data.unsettled} />
      <div class="with-side">
        <Middle
          id={id}
          path={path}
          events={events}
          isHeld={data.holder?.liveness === 'alive'}
          line={line.value}
        />
        <div>
          <Facts view={data} />
          <Verify path={path} />
          <Forks path={path} id={id} />
          <Slots slots={data.slots} />
        </div>
      </div>
    </>
  )
}

function Head({ view, onChange }: { view: SessionView; onChange: () => void }) {
  const { session_id, state, title, commands, holder, epoch } = view
  return (
    <div class="head">
      <h1>{shown(title ?? session_id)}</h1>
      <StateMark state={state} />
      <div class="tools">
        <Copy label="Copy resume" text={commands.resume} />
        <Copy label="Copy fork" text={commands.fork} />
        {state === 'crashed' && <ActionButton action={closeAction(session_id, onChange)} />}
        {holder !== null && epoch !== null && (
          <ActionButton
            action={{
              name: 'unlock',
              title: 'Unlock this session?',
              effect: `Process ${holder.pid} loses its hold on ${session_id}: it writes nothing more. Another process can resume it.`,
              verb: 'Unlock',
              isDangerous: true,
              body: () => ({ session_id, epoch, since: holder.since }),
              done: onChange,
            }}
          />
        )}
        {holder === null && (
          <ActionButton
            action={{
              name: 'trash',
              title: 'Move this session to the trash?',
              effect: `${session_id} leaves the list. It stays in the trash until that is emptied: stint sessions restore brings it back.`,
              verb: 'Move to trash',
              isDangerous: true,
              body: () => ({ session_id }),
              done: () => goTo(linkTo('sessions')),
            }}
          />
        )}
      </div>
    </div>
  )
}

interface MiddleProps {
  id: string
  path: string
  events: EventWindow
  isHeld: boolean
  line: number
}

function Middle({ id, path, events, isHeld, line }: MiddleProps) {
  const { query } = route.value
  const chosen = useSignal<Chosen | undefined>(undefined)
  const view = query.view === 'acts' ? 'acts' : 'events'
  const at = query.at === undefined ? undefined : Number(query.at)
  const actsLink = linkTo('sessions', id, { view: 'acts' })
  const onChoose = (row: Chosen): void => {
    chosen.value = row
    choose({ at: 'event' in row ? String(row.event.seq) : '' })
  }
  return (
    <div>
      <div class="head">
        <Choices
          label="What to show"
          current={view}
          options={[
            {
              value: 'events',
              text: `Timeline ${shownCount(events.last.value + events.acts.value)}`,
              link: linkTo('sessions', id),
            },
            { value: 'acts', text: `Acts ${shownCount(events.acts.value)}`, link: actsLink },
          ]}
        />
      </div>
      {events.error.value !== undefined && <ErrorBox error={events.error.value} />}
      {view === 'acts' ? (
        <ActList id={id} isHeld={isHeld} version={String(line)} />
      ) : events.groups === 0 ? (
        <Empty title="Nothing was recorded yet.">Events appear here as they are written.</Empty>
      ) : (
        <Timeline
          window={events}
          at={at}
          chosen={chosen.value}
          isHeld={isHeld}
          actsLink={actsLink}
          onChoose={onChoose}
        />
      )}
      {chosen.value !== undefined && view === 'events' && <Detail chosen={chosen.value} path={path} />}
    </div>
  )
}

function Detail({ chosen, path }: { chosen: Chosen; path: string }) {
  return 'event' in chosen ? (
    <EventDetail key={chosen.event.seq} event={chosen.event} path={path} />
  ) : (
    <ActDetail act={chosen.act} />
  )
}

/** An act in full: when it began and ended, its key, and what its program has noted about it. */
function ActDetail({ act }: { act: ActRow }) {
  const text = JSON.stringify(act, null, 2)
  return (
    <section>
      <h2>
        {act.type === 'note' ? 'Note' : 'Act'}: {shown(act.action)}
        <span class="right">
          <Copy text={text} />
        </span>
      </h2>
      <pre class="panel detail" tabIndex={0}>
        {shownLines(text)}
      </pre>
    </section>
  )
}

function EventDetail({ event, path }: { event: TimelineEvent; path: string }) {
  const whole = useSignal<TimelineEvent>(event)
  const error = useSignal<unknown>(undefined)
  const { seq, type, data, masked, cut } = whole.value
  const text = typeof data === 'string' ? data : (JSON.stringify(data, null, 2) ?? '')
  const load = async (): Promise<void> => {
    try {
      const page = await getJson<EventPage>(addressOf(`${path}/events`, { from: seq, limit: 1, full: 1 }))
      whole.value = page.events[0] ?? event
    } catch (failure) {
      error.value = failure
    }
  }
  return (
    <section>
      <h2>
        Record {seq}: {shown(type)}
        {masked === true && ', secrets were replaced'}
        <span class="right">
          {cut !== undefined && (
            <button type="button" onClick={() => void load()}>
              Load all {formatBytes(cut)}
            </button>
          )}
          <Copy text={text} />
        </span>
      </h2>
      {error.value !== undefined && <ErrorBox error={error.value} />}
      <pre class="panel detail" tabIndex={0}>
        {shownLines(text)}
      </pre>
    </section>
  )
}

function Facts({ view }: { view: SessionView }) {
  return (
    <section>
      <h2>Session</h2>
      <dl class="panel facts">
        <dt>Id</dt>
        <dd class="mono wrap">{view.session_id}</dd>
        <dt>Program</dt>
        <dd class="wrap">{shown(view.tool ?? '–')}</dd>
        <dt>Workspace</dt>
        <dd class="wrap">{view.workspace === null ? '–' : <Place name={view.workspace} />}</dd>
        <dt>Begun</dt>
        <dd>
          <Ago at={view.created_at} />
        </dd>
        <dt>Last record</dt>
        <dd>
          <Ago at={view.last_at} />
        </dd>
        <dt>Size</dt>
        <dd>
          {shownCount(view.turns)} turns, {shownCount(view.records)} records, {formatBytes(view.bytes)}
        </dd>
        <dt>Held by</dt>
        <dd>{view.holder === null ? 'no process' : `process ${view.holder.pid}, ${view.holder.liveness}`}</dd>
        {view.spooled > 0 && (
          <>
            <dt>Left by visitors</dt>
            <dd>{view.spooled} entries the holder has not taken in yet</dd>
          </>
        )}
      </dl>
    </section>
  )
}
