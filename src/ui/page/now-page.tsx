import { type Incident, type NowView, type NowRun, tileStates } from '../protocol.ts'
import { activitySentence } from './activity-sentence.ts'
import { Ago } from './clock.tsx'
import { formatBytes, shortened, shown, shownCount } from './format.ts'
import { now } from './live.ts'
import { Choices, Empty, ShellLine } from './parts.tsx'
import { linkTo, route } from './route.ts'
import { SessionTileView } from './session-tile.tsx'
import { labelOf, StateMark } from './state-mark.tsx'

/** All sessions at once: what needs a person is first. */
export function NowPage() {
  const state = now.value
  if (state === undefined) return <p class="dim">Loading…</p>
  const chosen = route.value.query.state ?? ''
  const tiles = state.tiles.filter((tile) => chosen === '' || tile.state === chosen)
  return (
    <>
      <div class="head">
        <h1>Now</h1>
        <Totals state={state} chosen={chosen} />
      </div>
      <div class="with-side">
        <div>
          {tiles.length === 0 ? (
            <NoTiles chosen={chosen} />
          ) : (
            <div class="tiles">
              {tiles.map((tile) => (
                <SessionTileView key={tile.session_id} tile={tile} />
              ))}
            </div>
          )}
          <MoreSessions state={state} tileCount={tiles.length} chosen={chosen} />
        </div>
        <div>
          <Findings findings={state.findings} />
          <Incidents incidents={state.incidents} />
          <Runs runs={state.runs} />
        </div>
      </div>
    </>
  )
}

function Totals({ state, chosen }: { state: NowView; chosen: string }) {
  const shownStates = tileStates.filter((name) => state.totals[name] > 0 || name === chosen)
  return (
    <Choices
      label="Sessions by state"
      current={chosen}
      options={shownStates.map((name) => ({
        value: name,
        text: `${labelOf(name)} ${shownCount(state.totals[name])}`,
        link: linkTo('now', '', { state: name === chosen ? '' : name }),
        state: name,
      }))}
    />
  )
}

function NoTiles({ chosen }: { chosen: string }) {
  if (chosen !== '') return <Empty title={`No session is in this state: ${labelOf(chosen)}.`} />
  return (
    <Empty title="No session is at work.">
      Start an agent in a project with hooks, and it appears here.
      <br />
      <ShellLine line="stint hook install" />
    </Empty>
  )
}

function MoreSessions({ state, tileCount, chosen }: { state: NowView; tileCount: number; chosen: string }) {
  const { closed, ...open } = state.totals
  const inState = Object.entries(open).filter(([name]) => chosen === '' || name === chosen)
  const more = inState.reduce((sum, [, count]) => sum + count, 0) - tileCount
  if (more <= 0 && closed === 0) return null
  return (
    <p class="pager small dim">
      <span>
        {more > 0 && `${shownCount(more)} more open. `}
        <a href={linkTo('sessions')}>All sessions</a>
        {closed > 0 && `, ${shownCount(closed)} of them closed`}
      </span>
    </p>
  )
}

function Findings({ findings }: Pick<NowView, 'findings'>) {
  if (findings.length === 0) return null
  return (
    <section>
      <h2>To do</h2>
      <ul class="panel">
        {findings.map(({ name, level, text, fix }) => (
          <li class="row" key={name + text}>
            <StateMark state={level} label={shown(name)} />
            <p class="wrap">{shown(text)}</p>
            {fix !== null && <p class="mono dim wrap">{shown(fix)}</p>}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Incidents({ incidents }: { incidents: readonly Incident[] }) {
  return (
    <section aria-live="polite" aria-relevant="additions">
      <h2>In each other's way, last hour</h2>
      {incidents.length === 0 ? (
        <p class="dim small">No call was refused.</p>
      ) : (
        <ul class="panel">
          {incidents.slice(0, 12).map((incident) => (
            <li
              class="row"
              key={`${incident.at} ${incident.kind} ${incident.session_id}`}
              data-state={incident.kind}
            >
              <StateMark state={incident.kind} />
              <span class="right dim small">
                <Ago at={incident.at} />
              </span>
              <p class="small wrap">
                <a class="whole" href={linkTo('workspaces', incident.key)}>
                  {activitySentence(incident, incident.name)}
                </a>
              </p>
              <p class="small dim cut">{shown(incident.name)}</p>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Runs({ runs }: { runs: readonly NowRun[] }) {
  if (runs.length === 0) return null
  return (
    <section>
      <h2>Runs</h2>
      <ul class="panel">
        {runs.map((run) => (
          <li class="row" key={run.path}>
            <span class="cut" title={shown(run.path)}>
              {shown(run.command ?? 'a run')} {run.pid !== null && <span class="dim">pid {run.pid}</span>}
            </span>
            <span class="right">
              {run.partial && '≥ '}
              {formatBytes(run.bytes)}
            </span>
            <p class="small dim">
              {run.session_id !== null && `${shortened(shown(run.session_id), 24)}, `}
              {run.files} {run.files === 1 ? 'file' : 'files'}, <Ago at={run.created_at} />
            </p>
          </li>
        ))}
      </ul>
    </section>
  )
}
