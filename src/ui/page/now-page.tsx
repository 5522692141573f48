import { type Incident, type NowRun, type NowView, type SessionTile, tileStates } from '../protocol.ts'
import { ActionButton, breakAction } from './actions.tsx'
import { now } from './api.ts'
import {
  activitySentence,
  countOf,
  firstPathText,
  formatBytes,
  partyName,
  shortened,
  shown,
  shownCount,
  whatText,
} from './format.ts'
import { Age, Ago, Empty, labelOf, Place, ShellLine, StateMark, toneOf } from './parts.tsx'
import { linkTo } from './route.ts'

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
            <Empty title="No agent is at work.">
              Set stint up for the agents you have; each session then appears here.
              <br />
              <ShellLine line="stint init" />
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
          <NextStep next={state.next} />
          <Findings findings={state.findings} />
          <Incidents incidents={state.incidents} />
          <Runs runs={state.runs} />
        </div>
      </div>
    </>
  )
}

/** The one thing to do next, as `stint` shows it. */
function NextStep({ next: { step, why } }: Pick<NowView, 'next'>) {
  if (step === null) return null
  return (
    <section>
      <h2>Next</h2>
      <ul class="panel">
        <li class="row">
          <p class="mono wrap">{shown(step)}</p>
          <p class="small dim wrap">{shown(why)}</p>
        </li>
      </ul>
    </section>
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

/** Where a tile leads: the recorded session, or else the workspace it works in. */
function linkOf({ recorded, session_id, holds, waits_for }: SessionTile): string {
  if (recorded !== null) return linkTo('sessions', session_id)
  const key = waits_for?.key ?? holds[0]?.key
  return key === undefined ? linkTo('now') : linkTo('workspaces', key)
}

export function SessionTileView({ tile }: { tile: SessionTile }) {
  const { origin, session_id, state, workspace, waits_for } = tile
  const [claim] = tile.holds
  const purpose = tile.purpose ?? tile.title
  const terminal = [origin?.terminal, origin?.tmux_pane && `tmux ${origin.tmux_pane}`]
    .filter(Boolean)
    .join(', ')
  return (
    <article class="tile" data-state={state} style={toneOf(state)} data-session={session_id}>
      <div class="line">
        <StateMark state={state} />
        <Age class="right dim small" at={tile.since} />
      </div>
      <h3 class="line">
        <a class="whole cut" href={linkOf(tile)}>
          {shown(tile.agent ?? session_id, 60)}
        </a>
        {tile.agent !== null && <span class="dim mono cut">{shortened(shown(session_id), 14)}</span>}
      </h3>
      {workspace !== null && (
        <div class="line small">
          <Place name={workspace} />
          {claim !== undefined && !claim.paths.includes('**') && (
            <span class="dim cut">{firstPathText(claim.paths)}</span>
          )}
        </div>
      )}
      {purpose !== null && <p class="cut">{shown(purpose)}</p>}
      {waits_for !== null && (
        <p class="small wrap">
          waits for {whatText(waits_for.paths, waits_for.name)}, held by{' '}
          {waits_for.held_by.map((id) => partyName(id)).join(', ')}
        </p>
      )}
      {tile.work !== null && <p class="small dim cut">{shown(tile.work.text)}</p>}
      <div class="line small dim">
        {terminal !== '' && <span class="cut">{shown(terminal, 60)}</span>}
        {tile.pid !== null && <span>pid {tile.pid}</span>}
        <span class="right">
          last act <Ago at={tile.last_at} />
        </span>
      </div>
      {claim !== undefined && (
        <div class="buttons">
          <ActionButton action={breakAction(claim.key, claim.name, session_id, claim.fence)} />
        </div>
      )}
    </article>
  )
}
