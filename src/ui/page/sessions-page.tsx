import { useRef } from 'preact/hooks'
import type { SearchAnswer, SessionPage as Page, TranscriptDescription } from '../server/protocol.ts'
import { addressOf, now, useJson } from './api.ts'
import { Age, At, Choices, Empty, ErrorBox, labelOf, Pager, ShellLine, StateMark } from './parts.tsx'
import { countOf, exactTime, formatBytes, shortened, shown, shownCount } from './format.ts'
import { choose, linkTo, route } from './route.ts'
import { TranscriptMark } from './transcript.tsx'

const pageSize = 50
const maxHits = 200
const states = ['', 'active', 'crashed', 'locked', 'damaged', 'closed']

/** All recorded sessions and conversations, newest activity first; or those that have a text. */
export function SessionsPage() {
  const { state = '', q = '', from = '0' } = route.value.query
  const address = addressOf('/api/sessions', { state, text: q, from, limit: pageSize })
  // A session that begins or ends has another state.
  const version = now.value?.tiles.map((tile) => tile.state).join()
  const { data, error } = useJson<Page>(address, undefined, version)
  return (
    <>
      <div class="head">
        <h1>Sessions</h1>
        <Choices
          label="State"
          current={state}
          options={states.map((value) => ({
            value,
            text: value === '' ? 'All' : labelOf(value),
            link: linkTo('sessions', '', { state: value, q }),
          }))}
        />
        <Search q={q} />
      </div>
      {error !== undefined && <ErrorBox error={error} />}
      {q !== '' && <h2>Names</h2>}
      {data !== undefined && (data.total > 0 ? <SessionList page={data} /> : <NoSessions q={q} />)}
      {q !== '' && <Hits q={q} />}
    </>
  )
}

function Search({ q }: { q: string }) {
  const field = useRef<HTMLInputElement>(null)
  return (
    <form
      class="tools"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        choose({ q: field.current?.value.trim() ?? '', from: '' })
      }}
    >
      <input
        ref={field}
        key={q}
        type="search"
        aria-label="Search all sessions"
        placeholder="Search all sessions"
        defaultValue={q}
      />
      <button>Search</button>
    </form>
  )
}

/** The events and conversations in which the text was found, as `stint sessions search` finds them. */
function Hits({ q }: { q: string }) {
  const { data, error } = useJson<SearchAnswer>(addressOf('/api/search', { q, limit: maxHits }))
  if (data === undefined && error !== undefined) return <ErrorBox error={error} />
  return (
    <section>
      <h2>Events and conversations</h2>
      {data !== undefined && data.hits.length > 0 && (
        <ol class="panel hits">
          {data.hits.map((hit) => (
            <HitLine
              key={`${hit.session_id} ${hit.seq} ${hit.path ?? ''} ${hit.is_transcript}`}
              hit={hit}
              q={q}
            />
          ))}
        </ol>
      )}
      <p class="pager small dim" role="status">
        {data === undefined ? 'Searching…' : summaryOf(data)}
      </p>
    </section>
  )
}

function summaryOf({ hits, unreadable }: SearchAnswer): string {
  const count =
    hits.length === 0
      ? 'Nothing found.'
      : `${hits.length} found${hits.length === maxHits ? ': these are the first.' : '.'}`
  return unreadable.length === 0
    ? count
    : `${count} ${countOf(unreadable.length, 'session')} could not be read.`
}

function HitLine({ hit, q }: { hit: SearchAnswer['hits'][number]; q: string }) {
  const text = shown(hit.excerpt, 600)
  const start = text.toLowerCase().indexOf(q.toLowerCase())
  return (
    <li class="row">
      <a
        class="whole cut"
        href={linkTo('sessions', hit.session_id, {
          at: String(hit.seq),
          view: hit.is_transcript ? 'transcript' : '',
        })}
      >
        {shown(hit.title ?? shortened(hit.session_id, 20), 120)}
      </a>
      <span class="dim small">
        {shown(hit.type, 60)} {hit.seq}
      </span>
      <At class="right dim small" at={hit.at} />
      <p class="small wrap">
        {start === -1 ? text : text.slice(0, start)}
        {start !== -1 && <mark>{text.slice(start, start + q.length)}</mark>}
        {start !== -1 && text.slice(start + q.length)}
      </p>
    </li>
  )
}

function NoSessions({ q }: { q: string }) {
  if (q !== '') return <p class="dim small">No session has this in its title, program or workspace.</p>
  return (
    <Empty title="No session here.">
      The vault keeps the conversations that you had with your agents.
      <br />
      <ShellLine line="stint vault sync" />
    </Empty>
  )
}

function SessionList({ page: { sessions, from, total } }: { page: Page }) {
  const last = from + sessions.length
  const steps = {
    Newer: from > 0 ? { from: String(Math.max(0, from - pageSize)) } : null,
    Older: last < total ? { from: String(last) } : null,
  }
  return (
    <>
      <ul class="panel">
        {sessions.map((row) => (
          <SessionLine key={row.session_id} row={row} />
        ))}
      </ul>
      <Pager steps={steps}>
        {shownCount(from + 1)} to {shownCount(last)} of {shownCount(total)}
      </Pager>
    </>
  )
}

/** A recorded session, a conversation in the vault, or both. */
function SessionLine({ row: { session_id, recorded, transcript } }: { row: Page['sessions'][number] }) {
  const title = recorded?.title ?? transcript?.title ?? recorded?.key ?? shortened(session_id, 20)
  const parts = [
    whoseText(recorded?.tool ?? '', transcript),
    recorded?.workspace ?? transcript?.workspace ?? '',
    recorded === null ? '' : countOf(recorded.records, 'record'),
    recorded === null || transcript === null ? '' : 'transcript kept',
  ]
  return (
    <li class="row" data-session={session_id}>
      {recorded !== null && <StateMark state={recorded.state} />}
      {recorded === null && transcript !== null && <TranscriptMark transcript={transcript} />}
      <a class="whole cut" href={linkTo('sessions', session_id)}>
        {shown(title, 200)}
      </a>
      <span class="right dim small">
        {formatBytes((recorded?.bytes ?? 0) + (transcript?.bytes ?? 0))},{' '}
        <Age at={Math.max(recorded?.last_at ?? 0, transcript?.last_at ?? 0)} />
      </span>
      <p class="small dim cut">
        {parts
          .filter((part) => part !== '')
          .map((part) => shown(part))
          .join(', ')}
      </p>
    </li>
  )
}

/** The program of a session, and what becomes of its conversation there. */
function whoseText(program: string, transcript: TranscriptDescription | null): string {
  if (transcript === null) return program
  const { agent_title, lost_after, due_at } = transcript
  const day = (at: number): string => exactTime(at).slice(0, 10)
  if (lost_after !== null) return `${agent_title} has lost it, last there ${day(lost_after)}`
  return due_at === null ? agent_title : `${agent_title} deletes it ${day(due_at)}`
}
