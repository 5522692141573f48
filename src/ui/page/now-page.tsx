import { type Incident, type NowRun, type NowView, tileStates } from '../protocol.ts'
import { activitySentence } from './activity-sentence.ts'
import { Age } from './clock.tsx'
import { countOf, formatBytes, shortened, shown, shownCount } from './format.ts'
import { now } from './live.ts'
import { Empty, ShellLine } from './parts.tsx'
import { linkTo } from './route.ts'
import { SessionTileView } from './session-tile.tsx'
import { labelOf, StateMark } from './state-mark.tsx'

/** All sessions at once: what needs a person is first. */
export function NowPage() {
  const state = now.value
  if (state === undefined) return <p class="dim">Loading…</p>
  return (
    <>
      <div class="head">
        <h1>Now</h1>
        {tileStates
          .filter((name) => state.totals[name] > 0)
          .map((name) => (
            <StateMark key={name} state={name} label={`${labelOf(name)} ${shownCount(state.totals[name])}`} />
          ))}
      </div>
      <div class="with-side">
        <div>
          {state.tiles.length === 0 ? (
            <Empty title="No session is at work.">
              Start an agent in a project with hooks, and it appears here.
              <br />
              <ShellLine line="stint hook install" />
            </Empty>
          ) : (
            <div class="tiles">
              {state.tiles.map((tile) => (
                <SessionTileView key={tile.session_id} tile={tile} />
              ))}
            </div>
          )}
          <p class="pager small dim">
            <a href={linkTo('sessions')}>All sessions</a>
          </p>
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
              <Age class="right dim small" at={incident.at} />
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
              {countOf(run.files, 'file')}, <Age at={run.created_at} />
            </p>
          </li>
        ))}
      </ul>
    </section>
  )
}
