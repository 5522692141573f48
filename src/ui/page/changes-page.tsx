import type { ChangeList, ChangeRow, ChangeView, UndoPreview } from '../server/protocol.ts'
import { ask } from './actions.tsx'
import { addressOf, getJson, perform, useJson } from './api.ts'
import { countOf, shortened, shown, shownCount } from './format.ts'
import { Age, Ago, Copy, Empty, ErrorBox, Loading, ShellLine, StateMark } from './parts.tsx'
import { goTo, linkTo, route } from './route.ts'

/** The change sets of all workspaces, or of one: which session changed what, the newest first. */
export function ChangesPage() {
  const { key = '' } = route.value.query
  // Counting the lines of all changes takes git longer than other pages take.
  const { data, error } = useJson<ChangeList>(addressOf('/api/changes', { key }), 10_000)
  if (data === undefined) return <Loading error={error} />
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
          <ShellLine line="stint init" />
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

/** One change set: who changed what, its diff, and the button that undoes it. */
export function ChangeDetail({ id: place }: { id: string }) {
  const [key = '', id = ''] = place.split('.', 2)
  const { data, error } = useJson<ChangeView>(addressOf('/api/change', { key, id }))
  if (data === undefined) return <Loading error={error} />
  return (
    <>
      <Head view={data} />
      <Remarks view={data} />
      {data.diffs.map((diff) => (
        <FileSection key={diff.path} diff={diff} />
      ))}
      {data.files_left_out > 0 && (
        <p class="pager small dim">
          {countOf(data.files_left_out, 'more file')}: <code>stint diff {data.id}</code>
        </p>
      )}
    </>
  )
}

function Head({ view }: { view: ChangeView }) {
  return (
    <div class="head">
      <h1>{changeTitle(view)}</h1>
      <ChangeMark row={view} />
      <div class="tools">
        <Copy label="Copy undo" text={`stint undo ${view.id}`} />
        <UndoButton view={view} />
      </div>
    </div>
  )
}

function Remarks({ view }: { view: ChangeView }) {
  const { session_id, workspace, files, added, removed, left_out } = view
  return (
    <>
      <p class="small dim wrap">
        {countOf(files, 'file')}, <ChangedLines added={added} removed={removed} />, in{' '}
        <a href={linkTo('workspaces', view.key)}>{shown(workspace)}</a>, begun <Ago at={view.began_at} />
        {session_id !== null && view.kind === 'turn' && `, by ${shown(session_id)}`}
      </p>
      {view.head_moved && <p class="small">HEAD moved in this turn: a commit, a rebase or another branch.</p>}
      {!view.complete && (
        <p class="small">A restore point is missing: changes of others may be among these.</p>
      )}
      {left_out.length > 0 && (
        <p class="small dim wrap">
          Not kept: {shown(left_out.slice(0, 10).join(', '), 1000)}
          {left_out.length > 10 && ` and ${shownCount(left_out.length - 10)} more`}
        </p>
      )}
    </>
  )
}

/** Shows what an undo would write, and asks. Absent if the set is undone. */
function UndoButton({ view }: { view: ChangeView }) {
  if (view.undone === 'yes') return null
  const { key, id } = view
  const preview = async (): Promise<void> => {
    try {
      askToUndo(view, await getJson<UndoPreview>(addressOf('/api/change/undo', { key, id })))
    } catch (error) {
      ask({ title: 'This cannot be undone here.', error })
    }
  }
  return (
    <button type="button" class="danger" onClick={() => void preview()}>
      {view.kind === 'undo' ? 'Redo…' : 'Undo…'}
    </button>
  )
}

function askToUndo({ key, id, kind }: ChangeView, { files, conflicts, kept, plan }: UndoPreview): void {
  const title = kind === 'undo' ? 'Take this undo back?' : 'Undo these changes?'
  if (conflicts.length > 0)
    return ask({
      title: 'This cannot be undone as a whole.',
      effect: 'Nothing is written. `stint undo ID -- PATH` undoes the other files.',
      list: conflicts.map(({ path, why }) => `${path}: ${why}`),
    })
  if (files.length === 0)
    return ask({
      title: 'There is nothing to undo.',
      effect: 'These files are already as they were before.',
    })
  ask({
    title,
    effect: 'This is what will be written. Changes of others stay, and you can take it back.',
    list: [
      ...files.map(({ path, effect }) => `${path}: ${effect}`),
      ...kept.map((path) => `${path}: stays, because it is ignored again`),
    ],
    verb: `Write ${countOf(files.length, 'file')}`,
    isDangerous: true,
    async act() {
      await perform('undo', { key, id, plan })
      goTo(linkTo('changes'))
    },
  })
}

const labels = { added: 'Added', deleted: 'Removed', changed: 'Changed', moved: 'Moved' }

function FileSection({ diff }: { diff: ChangeView['diffs'][number] }) {
  const { path, moved_from, change, is_binary, added, removed, lines, lines_left_out } = diff
  return (
    <details class="panel file" open>
      <summary class="row">
        <span class={`small ${change}`}>{labels[change]}</span>
        <bdi class="mono wrap fill">
          {moved_from !== null && `${shown(moved_from, 1000)} → `}
          {shown(path, 1000)}
        </bdi>
        {added + removed > 0 && <ChangedLines added={added} removed={removed} />}
      </summary>
      {is_binary && <p class="row small dim">A binary file.</p>}
      {lines.length > 0 && (
        <pre class="diff" tabIndex={0}>
          {lines.map((line, index) => (
            <span key={index} class={lineKinds[line[0] ?? '']}>
              {shown(line, 2000)}
              {'\n'}
            </span>
          ))}
        </pre>
      )}
      {lines_left_out > 0 && <p class="row small dim">{countOf(lines_left_out, 'more line')}</p>}
    </details>
  )
}

const lineKinds: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed', '@': 'hunk', '\\': 'dim' }
