import type {
  Answers,
  ClaimDescription,
  WaiterDescription,
  WorkspaceRow,
  WorkspaceView,
} from '../server/protocol.ts'
import { ActionButton, breakQuestion } from './actions.tsx'
import { addressOf, pollMs, useJson } from './api.ts'
import { activitySentence, partyName, shown, whatText } from './format.ts'
import { LaneChart } from './lanes.tsx'
import { Age, At, Choices, Empty, ErrorBox, Loading, Place, ShellLine, StateMark } from './parts.tsx'
import { linkTo, route } from './route.ts'

/** Every workspace and resource that has a claim, a waiter or a history. */
export function WorkspacesPage() {
  const { data, error } = useJson<Answers['GET /api/workspaces']>('/api/workspaces', pollMs)
  if (data === undefined) return <Loading error={error} />
  return (
    <>
      <div class="head">
        <h1>Workspaces</h1>
      </div>
      {error !== undefined && <ErrorBox error={error} />}
      {data.workspaces.length === 0 ? (
        <Empty title="No workspace was claimed yet.">
          A claim keeps two sessions from changing the same files.
          <br />
          <ShellLine line="stint run --lock -- npm test" />
        </Empty>
      ) : (
        <ul class="panel">
          {data.workspaces.map((row) => (
            <WorkspaceLine key={row.key} row={row} />
          ))}
        </ul>
      )}
    </>
  )
}

function WorkspaceLine({ row }: { row: WorkspaceRow }) {
  return (
    <li class="row">
      <StateMark state={row.claims > 0 ? 'active' : 'idle'} label={row.claims > 0 ? 'In use' : 'Free'} />
      <a class="whole cut" href={linkTo('workspaces', row.key)}>
        <Place name={row.name} />
      </a>
      {row.store === 'postgres' && <span class="dim small">on the server</span>}
      {row.claims > 1 && <span class="small">{row.claims} claims</span>}
      {row.waiters > 0 && <StateMark state="waiting" label={`${row.waiters} waiting`} />}
      <Age class="right dim small" at={row.last_at} />
    </li>
  )
}

/** The times that a workspace can be shown for, in milliseconds. */
const spans: Readonly<Record<string, number>> = {
  '10m': 600_000,
  '1h': 3_600_000,
  '6h': 21_600_000,
  '24h': 86_400_000,
}

/** One workspace over time: who held it, waited, was refused, and took over. */
export function WorkspaceDetail({ id }: { id: string }) {
  const { span = '1h' } = route.value.query
  const address = addressOf('/api/workspace', { key: id, within: spans[span] })
  const { data, error } = useJson<WorkspaceView>(address, pollMs)
  if (data === undefined) return <Loading error={error} />
  return (
    <>
      <div class="head">
        <h1>{shown(data.name)}</h1>
        <div class="tools">
          <a class="small" href={linkTo('changes', '', { key: id })}>
            Changes
          </a>
          <Choices
            label="Time"
            current={span}
            options={Object.keys(spans).map((value) => ({
              value,
              text: value,
              link: linkTo('workspaces', id, { span: value }),
            }))}
          />
        </div>
      </div>
      <div class="panel">
        <LaneChart view={data} />
        <Legend />
      </div>
      <section>
        <h2>Claims</h2>
        <Claims view={data} />
      </section>
      <section>
        <h2>What happened</h2>
        <Activities view={data} />
      </section>
    </>
  )
}

function Legend() {
  const bars = {
    held: 'held whole',
    'held part': 'held in part',
    'held lost': 'taken over or broken',
    waited: 'waited',
  }
  return (
    <div class="row small dim" aria-hidden="true">
      {Object.entries(bars).map(([bar, text]) => (
        <span key={bar}>
          <svg width="20" height="10">
            <rect class={bar} x="1" y="1" width="18" height="8" rx="2" />
          </svg>{' '}
          {text}
        </span>
      ))}
      <StateMark state="refusal" />
    </div>
  )
}

function Claims({ view }: { view: WorkspaceView }) {
  if (view.claims.length + view.waiters.length === 0)
    return <p class="dim small">Free: the next session that asks gets it.</p>
  return (
    <ul class="panel">
      {view.claims.map((claim) => (
        <ClaimLine key={`${claim.session_id} ${claim.fence}`} claim={claim} view={view} />
      ))}
      {view.waiters.map((waiter) => (
        <WaiterLine key={`${waiter.session_id} ${waiter.since}`} waiter={waiter} name={view.name} />
      ))}
    </ul>
  )
}

function ClaimLine({ claim, view }: { claim: ClaimDescription; view: WorkspaceView }) {
  const { session_id, origin, paths, mode, state, work, fence } = claim
  return (
    <li class="row" data-session={session_id}>
      <StateMark
        state={state === 'leftover' ? 'background' : 'active'}
        label={state === 'leftover' ? 'Left over' : 'Held'}
      />
      <a href={linkTo('sessions', session_id)}>{partyName(session_id, origin?.agent)}</a>
      <span class="dim small">
        {mode === 'shared' ? 'shares' : 'holds'} {whatText(paths, view.name)}
      </span>
      <span class="right">
        <ActionButton question={breakQuestion(view.key, view.name, session_id, fence)} />
      </span>
      <p class="small wrap">{shown(claim.purpose ?? '')}</p>
      <p class="small dim wrap">
        {work !== null && `${shown(work.text)}, `}held since <At at={claim.acquired_at} />
      </p>
    </li>
  )
}

function WaiterLine({ waiter, name }: { waiter: WaiterDescription; name: string }) {
  return (
    <li class="row">
      <StateMark state="waiting" />
      <span>{partyName(waiter.session_id, waiter.origin?.agent)}</span>
      <span class="dim small">
        for {whatText(waiter.paths, name)}, since <At at={waiter.since} />
      </span>
    </li>
  )
}

function Activities({ view }: { view: WorkspaceView }) {
  const newest = view.activities.toReversed().slice(0, 200)
  if (newest.length === 0) return <p class="dim small">Nothing in this time.</p>
  return (
    <ol class="panel">
      {newest.map((activity) => (
        <li class="row" key={`${activity.at} ${activity.kind} ${activity.session_id}`}>
          <At class="dim small" at={activity.at} />
          <StateMark state={activity.kind} />
          <span class="small wrap sentence">{activitySentence(activity, view.name)}</span>
        </li>
      ))}
    </ol>
  )
}
