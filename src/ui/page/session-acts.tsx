import { useSignal } from '@preact/signals'
import type { ActPage, SessionView } from '../protocol.ts'
import { addressOf } from './api.ts'
import { Ago, At } from './clock.tsx'
import { OutcomeText, actState } from './outcome-text.tsx'
import { shown, shownCount } from './format.ts'
import { Empty, ErrorBox } from './parts.tsx'
import { Glyph, StateMark } from './state-mark.tsx'
import { useJson } from './use-json.ts'

/** Acts that began and have no outcome: they were performed, or not, or half. A person should look. */
export function Unsettled({ unsettled }: Pick<SessionView, 'unsettled'>) {
  if (unsettled.length === 0) return null
  return (
    <section class="unsettled">
      <h2>
        <StateMark state="warn" label={`${unsettled.length} without an outcome`} />
      </h2>
      <ul class="panel">
        {unsettled.slice(0, 20).map((act) => (
          <li class="row" key={act.act}>
            <strong>{shown(act.action, 80)}</strong>
            <span class="cut">{shown(act.subject ?? '')}</span>
            <span class="right dim small">
              begun <Ago at={act.at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** The acts of a session, newest first, a page at a time. */
export function ActList({ id, isHeld, version }: { id: string; isHeld: boolean; version: string }) {
  const before = useSignal<number | undefined>(undefined)
  const path = `/api/sessions/${encodeURIComponent(id)}/acts`
  const address = addressOf(path, { before: before.value, limit: 100 })
  const { data, error } = useJson<ActPage>(address, version).state.value
  if (data === undefined)
    return error === undefined ? <p class="dim">Loading…</p> : <ErrorBox error={error} />
  if (data.acts.length === 0)
    return <Empty title="No acts.">A program records an act before it does what must not happen twice.</Empty>
  const oldest = data.acts[0]?.seq
  return (
    <>
      <ul class="panel">
        {data.acts.toReversed().map((act) => (
          <li
            class={actState(act) === 'late' ? 'row open' : 'row'}
            key={`${act.seq} ${act.at}`}
            data-act={actState(act)}
          >
            <Glyph state={actState(act)} />
            <strong>{shown(act.action, 60)}</strong>
            <span class="cut">{shown(act.subject ?? '')}</span>
            <OutcomeText act={act} isHeld={isHeld} />
            <span class="time dim small">
              <At at={act.at} />
            </span>
          </li>
        ))}
      </ul>
      <p class="pager">
        {shownCount(data.total)} in all
        {data.unsettled > 0 && `, ${shownCount(data.unsettled)} without an outcome`}
        {before.value !== undefined && (
          <button type="button" onClick={() => (before.value = undefined)}>
            Newest
          </button>
        )}
        {typeof oldest === 'number' && data.left_out > 0 && (
          <button type="button" onClick={() => (before.value = oldest)}>
            Older
          </button>
        )}
      </p>
    </>
  )
}
