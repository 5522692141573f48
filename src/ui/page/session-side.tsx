import { useSignal } from '@preact/signals'
import type { SessionView, Verification } from '../protocol.ts'
import { getJson } from './api.ts'
import { Ago } from './clock.tsx'
import { formatBytes, shown, shownCount, shownLines } from './format.ts'
import { ErrorBox, Place } from './parts.tsx'
import { StateMark } from './state-mark.tsx'

export function SessionFacts({ view }: { view: SessionView }) {
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

/** Reads both logs and says whether a byte was changed. It may take seconds, so a person asks for it. */
export function Verify({ path }: { path: string }) {
  const result = useSignal<Verification | undefined>(undefined)
  const error = useSignal<unknown>(undefined)
  const isBusy = useSignal(false)
  const verify = async (): Promise<void> => {
    isBusy.value = true
    try {
      result.value = await getJson<Verification>(`${path}/verify`)
    } catch (failure) {
      error.value = failure
    } finally {
      isBusy.value = false
    }
  }
  return (
    <section>
      <h2>Chain</h2>
      <div class="panel">
        <div class="row">
          {result.value === undefined ? (
            <span class="dim">not verified in this tab</span>
          ) : (
            <StateMark state={result.value.state} />
          )}
          <span class="right">
            <button type="button" disabled={isBusy.value} onClick={() => void verify()}>
              {isBusy.value ? 'Verifying…' : 'Verify'}
            </button>
          </span>
          {result.value?.findings.map((finding) => (
            <p class="small wrap" key={finding}>
              {shown(finding, 500)}
            </p>
          ))}
        </div>
      </div>
      {error.value !== undefined && <ErrorBox error={error.value} />}
    </section>
  )
}

export function Slots({ slots }: Pick<SessionView, 'slots'>) {
  if (slots.length === 0) return null
  return (
    <section>
      <h2>Slots</h2>
      <div class="panel">
        {slots.map((slot) => (
          <details class="slot" key={slot.ext}>
            <summary>
              {shown(slot.ext, 80)} <span class="dim small">{formatBytes(slot.bytes)}</span>
            </summary>
            <pre tabIndex={0}>{shownLines(slot.value)}</pre>
          </details>
        ))}
      </div>
    </section>
  )
}
