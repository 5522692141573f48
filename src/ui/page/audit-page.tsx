import { useSignal } from '@preact/signals'
import type { AuditLineOf, Verification } from '../protocol.ts'
import { addressOf, download, getJson } from './api.ts'
import { At, clock } from './clock.tsx'
import { shortened, shown } from './format.ts'
import { Empty, ErrorBox } from './parts.tsx'
import { choose, linkTo, route } from './route.ts'
import { StateMark } from './state-mark.tsx'
import { useLines } from './use-lines.ts'

const maxLines = 500
const hours: Readonly<Record<string, number>> = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 }

/** Acts and notes of all sessions, as `stint audit query --all` finds them. */
export function AuditPage() {
  const { query } = route.value
  const address = addressOf('/api/audit', { ...criteriaOf(query), limit: maxLines })
  const { lines, end, error } = useLines<AuditLineOf>(address, maxLines).value
  return (
    <>
      <div class="head">
        <h1>Audit</h1>
        <div class="tools">
          <Export criteria={criteriaOf(query)} />
        </div>
      </div>
      <Criteria query={query} />
      {error !== undefined && <ErrorBox error={error} />}
      {end !== undefined && lines.length === 0 ? (
        <Empty title="No audit line matches.">
          A line is written before and after each act of a recorded session.
        </Empty>
      ) : (
        <AuditTable lines={lines} />
      )}
      <p class="pager" role="status">
        {end === undefined && error === undefined ? 'Searching…' : `${lines.length} lines`}
        {end !== undefined && end.unreadable.length > 0 && `, ${end.unreadable.length} sessions not readable`}
        {lines.length === maxLines && '; narrow the query, or export all'}
      </p>
      <VerifyAll sessions={[...new Set(lines.map(({ session_id }) => session_id))]} />
    </>
  )
}

/** The parameters of the server for what was chosen. The time is fixed to the minute, so that it stays. */
function criteriaOf(query: Readonly<Record<string, string>>): Record<string, string | number | undefined> {
  const { action, subject, failed, span = '24h' } = query
  const minute = Math.floor(clock.peek() / 60_000) * 60_000
  const since = hours[span] === undefined ? undefined : minute - hours[span] * 3_600_000
  return { action, subject, failed, since }
}

function Criteria({ query }: { query: Readonly<Record<string, string>> }) {
  return (
    <form class="query" onSubmit={(event) => event.preventDefault()}>
      <label>
        Action
        <input
          value={query.action ?? ''}
          onChange={(event) => choose({ action: event.currentTarget.value })}
        />
      </label>
      <label>
        Subject contains
        <input
          type="search"
          value={query.subject ?? ''}
          onChange={(event) => choose({ subject: event.currentTarget.value })}
        />
      </label>
      <label>
        Time
        <select value={query.span ?? '24h'} onChange={(event) => choose({ span: event.currentTarget.value })}>
          <option value="1h">last hour</option>
          <option value="24h">last day</option>
          <option value="7d">last week</option>
          <option value="30d">last 30 days</option>
          <option value="all">all</option>
        </select>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={query.failed === '1'}
          onChange={(event) => choose({ failed: event.currentTarget.checked ? '1' : '' })}
        />
        failed only
      </label>
    </form>
  )
}

function AuditTable({ lines }: { lines: readonly AuditLineOf[] }) {
  if (lines.length === 0) return null
  return (
    <table>
      <thead>
        <tr>
          <th>Line</th>
          <th>Action</th>
          <th>Subject</th>
          <th>Session</th>
          <th class="number">Time</th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <tr key={`${line.session_id} ${line.seq ?? line.at}`}>
            <td>
              <StateMark state={stateOf(line)} label={labels[line.type]} />
            </td>
            <td>{shown(line.action, 80)}</td>
            <td class="fill cut">{shown(line.error?.message ?? line.subject ?? '')}</td>
            <td class="mono">
              <a data-item href={linkTo('sessions', line.session_id, { view: 'acts' })}>
                {shortened(line.session_id, 14)}
              </a>
            </td>
            <td class="number">
              <At at={line.at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const labels: Readonly<Record<AuditLineOf['type'], string>> = {
  intent: 'Intent',
  outcome: 'Outcome',
  note: 'Note',
}

function stateOf({ type, ok }: AuditLineOf): string {
  if (type === 'outcome') return ok === false ? 'failed' : 'ok'
  return type === 'note' ? 'note' : 'idle'
}

/** Saves all matching lines; the browser asks where. */
function Export({ criteria }: { criteria: Record<string, string | number | undefined> }) {
  const error = useSignal<unknown>(undefined)
  const save = async (format: 'csv' | 'ndjson'): Promise<void> => {
    try {
      const chosen = format === 'csv' ? { ...criteria, format } : criteria
      await download(addressOf('/api/audit', chosen), `stint-audit.${format}`)
      error.value = undefined
    } catch (failure) {
      error.value = failure
    }
  }
  return (
    <>
      <button type="button" onClick={() => void save('csv')}>
        Export CSV
      </button>
      <button type="button" onClick={() => void save('ndjson')}>
        Export JSON lines
      </button>
      {error.value !== undefined && <ErrorBox error={error.value} />}
    </>
  )
}

/** Verifies the chain of every session in the result, one after another. */
function VerifyAll({ sessions }: { sessions: readonly string[] }) {
  const results = useSignal<readonly Verification[]>([])
  const error = useSignal<unknown>(undefined)
  const isBusy = useSignal(false)
  if (sessions.length === 0) return null
  const verify = async (): Promise<void> => {
    isBusy.value = true
    results.value = []
    try {
      for (const id of sessions) {
        const result = await getJson<Verification>(`/api/sessions/${encodeURIComponent(id)}/verify`)
        results.value = [...results.peek(), result]
      }
    } catch (failure) {
      error.value = failure
    } finally {
      isBusy.value = false
    }
  }
  const broken = results.value.filter(({ state }) => state === 'damaged')
  return (
    <section>
      <h2>Chain of these {sessions.length} sessions</h2>
      <div class="panel">
        <div class="row" role="status">
          {results.value.length === 0 && <span class="dim">not verified in this tab</span>}
          {results.value.length > 0 && broken.length === 0 && (
            <StateMark state="whole" label={`${results.value.length} whole`} />
          )}
          {broken.length > 0 && <StateMark state="damaged" label={`${broken.length} damaged`} />}
          <span class="right">
            <button type="button" disabled={isBusy.value} onClick={() => void verify()}>
              {isBusy.value ? `Verifying ${results.value.length + 1}…` : 'Verify'}
            </button>
          </span>
        </div>
        {broken.map(({ session_id, findings }) => (
          <div class="row" key={session_id}>
            <a href={linkTo('sessions', session_id)}>{shortened(session_id, 20)}</a>
            <p class="small wrap">{findings.map((finding) => shown(finding, 300)).join(' ')}</p>
          </div>
        ))}
      </div>
      {error.value !== undefined && <ErrorBox error={error.value} />}
    </section>
  )
}
