import type { ChangeList, ChangeRow } from '../protocol.ts'
import { addressOf, useJson } from './api.ts'
import { Age } from './clock.tsx'
import { countOf, shortened, shown, shownCount } from './format.ts'
import { claimsVersion } from './live.ts'
import { Empty, ErrorBox, ShellLine } from './parts.tsx'
import { linkTo, route } from './route.ts'
import { StateMark } from './state-mark.tsx'

/** The change sets of all workspaces, or of one: which session changed what, the newest first. */
export function ChangesPage() {
  const { key = '' } = route.value.query
  // A turn that begins or ends changes a claim.
  const { data, error } = useJson<ChangeList>(addressOf('/api/changes', { key }), claimsVersion())
  if (data === undefined)
    return error === undefined ? <p class="dim">Loading…</p> : <ErrorBox error={error} />
  return (
    <>
      <div class="head">
        <h1>Changes</h1>
        {key !== '' && <a href={linkTo('changes')}>of all workspaces</a>}
      </div>
      {error !== undefined && <ErrorBox error={error} />}
      {data.changes.length === 0 ? (
        <Empty title="No session has changed anything yet.">
          Every turn of an agent with hooks appears here, and can be undone.
          <br />
          <ShellLine line="stint hook install" />
        </Empty>
      ) : (
        <ul class="panel">
          {data.changes.map((row) => (
            <ChangeLine key={`${row.key} ${row.id}`} row={row} />
          ))}
        </ul>
      )}
      {data.older > 0 && (
        <p class="pager small dim">
          {shownCount(data.older)} older ones: <code>stint changes --all</code>
        </p>
      )}
    </>
  )
}

function ChangeLine({ row }: { row: ChangeRow }) {
  return (
    <li class="row" data-change={row.id}>
      <ChangeMark row={row} />
      <a class="whole cut" href={linkTo('changes', `${row.key}.${row.id}`)}>
        {changeTitle(row)}
      </a>
      <ChangedLines added={row.added} removed={row.removed} />
      <Age class="right dim small" at={row.began_at} />
      <p class="small dim cut">
        {countOf(row.files, 'file')} in {shown(row.workspace)}
      </p>
    </li>
  )
}

/** What stands for a change set: the prompt, or who made it. */
export const changeTitle = ({ kind, words, agent, session_id }: ChangeRow): string => {
  if (kind === 'outside') return 'Between the turns of agents'
  const author = agent ?? shortened(session_id ?? '', 20)
  return shown(words === null ? author : `${author}: ${words}`, 200)
}

/** What is special about a change set, in one word. */
export function ChangeMark({ row }: { row: ChangeRow }) {
  if (row.undone === 'yes') return <StateMark state="idle" label="Undone" />
  if (row.undone === 'partly') return <StateMark state="idle" label="Partly undone" />
  if (row.end === 'open') return <StateMark state="working" label="Goes on" />
  if (!row.complete) return <StateMark state="warn" label="Incomplete" />
  if (row.kind === 'outside') return <StateMark state="idle" label="Outside" />
  if (row.kind === 'undo') return <StateMark state="background" label="Undo" />
  if (row.kind === 'redo') return <StateMark state="background" label="Redo" />
  return <StateMark state="ok" label="Turn" />
}

export const ChangedLines = ({ added, removed }: { added: number; removed: number }) => (
  <span class="small">
    <span class="added">+{shownCount(added)}</span> <span class="removed">−{shownCount(removed)}</span>
  </span>
)
