import type { SessionPage as Page, ListedSession } from '../protocol.ts'
import { addressOf } from './api.ts'
import { Ago } from './clock.tsx'
import { formatBytes, shortened, shown, shownCount } from './format.ts'
import { now } from './now-state.ts'
import { Choices, ShellLine, Empty, Place, ErrorBox } from './parts.tsx'
import { choose, linkTo, route } from './route.ts'
import { labelOf, StateMark } from './state-mark.tsx'
import { useJson } from './use-json.ts'

const pageSize = 50
const states = ['', 'active', 'crashed', 'locked', 'damaged', 'closed']

/** All recorded sessions, newest activity first. */
export function SessionsPage() {
  const { state = '', text = '', from = '0' } = route.value.query
  const address = addressOf('/api/sessions', { state, text, from, limit: pageSize })
  // A session that begins or ends changes the totals.
  const version = JSON.stringify(now.value?.totals)
  const { data, error } = useJson<Page>(address, version).state.value
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
            link: linkTo('sessions', '', { state: value, text }),
          }))}
        />
        <div class="tools">
          <input
            type="search"
            aria-label="Filter by title"
            placeholder="Filter by title"
            value={text}
            onInput={(event) => choose({ text: event.currentTarget.value, from: '' })}
          />
        </div>
      </div>
      {error !== undefined && <ErrorBox error={error} />}
      {data !== undefined && (data.total === 0 ? <NoSessions /> : <SessionTable page={data} />)}
    </>
  )
}

function NoSessions() {
  return (
    <Empty title="No session here.">
      Agents are recorded if their hooks are installed with <code>--record</code>.
      <br />
      <ShellLine line="stint hook install --record" />
    </Empty>
  )
}

function SessionTable({ page }: { page: Page }) {
  return (
    <>
      <table>
        <thead>
          <tr>
            <th>State</th>
            <th>Session</th>
            <th>Workspace</th>
            <th>Program</th>
            <th class="number">Records</th>
            <th class="number">Size</th>
            <th class="number">Last</th>
          </tr>
        </thead>
        <tbody>
          {page.sessions.map((row) => (
            <SessionLine key={row.session_id} row={row} />
          ))}
        </tbody>
      </table>
      <Pager page={page} />
    </>
  )
}

function SessionLine({ row }: { row: ListedSession }) {
  return (
    <tr>
      <td>
        <StateMark state={row.state} />
      </td>
      <td class="fill cut">
        <a data-item href={linkTo('sessions', row.session_id)}>
          {shown(row.title ?? row.key ?? shortened(row.session_id, 20), 200)}
        </a>
      </td>
      <td class="place">{row.workspace !== null && <Place name={row.workspace} />}</td>
      <td class="cut">{shown(row.tool ?? '', 40)}</td>
      <td class="number">{shownCount(row.records)}</td>
      <td class="number">{formatBytes(row.bytes)}</td>
      <td class="number">
        <Ago at={row.last_at} />
      </td>
    </tr>
  )
}

function Pager({ page: { from, total, sessions } }: { page: Page }) {
  const last = from + sessions.length
  return (
    <p class="pager">
      {shownCount(from + 1)} to {shownCount(last)} of {shownCount(total)}
      {from > 0 && (
        <button type="button" onClick={() => choose({ from: String(Math.max(0, from - pageSize)) })}>
          Newer
        </button>
      )}
      {last < total && (
        <button type="button" onClick={() => choose({ from: String(last) })}>
          Older
        </button>
      )}
    </p>
  )
}
