import { useSignal } from '@preact/signals'
import type { ActPage, SessionView } from '../protocol.ts'
import { addressOf } from './api.ts'
import { Ago, At } from './clock.tsx'
import { shown } from './format.ts'
import { Empty, ErrorBox } from './parts.tsx'
import { StateMark } from './state-mark.tsx'
import { ActChip } from './timeline.tsx'
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
export function ActList({ id }: { id: string }) {
  const before = useSignal<number | undefined>(undefined)
  const path = `/api/sessions/${encodeURIComponent(id)}/acts`
  const address = addressOf(path, { before: before.value, limit: 100 })
  const { data, error } = useJson<ActPage>(address).state.value
  if (data === undefined)
    return error === undefined ? <p class="dim">Loading…</p> : <ErrorBox error={error} />
  if (data.acts.length === 0)
    return <Empty title="No acts.">A program records an act before it does what must not happen twice.</Empty>
  const oldest = data.acts[0]?.seq
  return (
    <>
      <ul class="panel">
        {data.acts.toReversed().map((act) => (
          <li class="row" key={`${act.seq} ${act.at}`}>
            <ActChip act={act} />
            <span class="cut">{shown(act.subject ?? '')}</span>
            <span class="right dim small">
              <At at={act.at} />
            </span>
            {act.outcome?.error !== null && act.outcome?.error !== undefined && (
              <p class="small wrap">{shown(act.outcome.error, 500)}</p>
            )}
          </li>
        ))}
      </ul>
      <p class="pager">
        {data.total} in all
        {before.value !== undefined && (
          <button type="button" onClick={() => (before.value = undefined)}>
            Newest
          </button>
        )}
        {typeof oldest === 'number' && data.acts.length === 100 && (
          <button type="button" onClick={() => (before.value = oldest)}>
            Older
          </button>
        )}
      </p>
    </>
  )
}
