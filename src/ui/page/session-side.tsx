import { useSignal } from '@preact/signals'
import type { ForkNode, SessionView, Verification } from '../protocol.ts'
import { getJson } from './api.ts'
import { formatBytes, shortened, shown, shownLines } from './format.ts'
import { ErrorBox } from './parts.tsx'
import { linkTo } from './route.ts'
import { Glyph, StateMark } from './state-mark.tsx'
import { useJson } from './use-json.ts'

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

/** The sessions that this one was forked from, and those forked from it. */
export function Forks({ path, id }: { path: string; id: string }) {
  const { data } = useJson<{ tree: ForkNode }>(`${path}/forks`).state.value
  if (data === undefined || data.tree.forks.length === 0) return null
  return (
    <section class="tree">
      <h2>Forks</h2>
      <Branch node={data.tree} id={id} />
    </section>
  )
}

function Branch({ node, id }: { node: ForkNode; id: string }) {
  const name = node.title === null ? shortened(shown(node.session_id), 18) : shown(node.title, 80)
  const place = node.at_seq === null ? '' : ` from record ${node.at_seq}`
  return (
    <div>
      {node.session_id === id ? (
        <strong>
          <Glyph state={node.state ?? 'closed'} />
          {name}
        </strong>
      ) : (
        <a data-item href={linkTo('sessions', node.session_id)}>
          <Glyph state={node.state ?? 'closed'} />
          {name}
        </a>
      )}
      <span class="dim small">{place}</span>
      {node.forks.length > 0 && (
        <ul>
          {node.forks.map((fork) => (
            <li key={fork.session_id}>
              <Branch node={fork} id={id} />
            </li>
          ))}
        </ul>
      )}
    </div>
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
            <pre class="detail" tabIndex={0}>
              {shownLines(slot.value)}
            </pre>
          </details>
        ))}
      </div>
    </section>
  )
}
