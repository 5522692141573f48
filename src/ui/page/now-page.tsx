import { type NowView, type SessionTile, tileStates } from '../server/protocol.ts'
import { ActionButton, breakQuestion } from './actions.tsx'
import { now } from './api.ts'
import {
  activitySentence,
  firstPathText,
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
  const view = now.value
  if (view === undefined) return <p class="dim">Loading…</p>
  const { tiles, next } = view
  // What the next step does already is not listed again: `stint init` puts hooks in.
  const findings = view.findings.filter(
    ({ name, text }) => text !== next.why && !(name === 'hooks' && next.step === 'stint init'),
  )
  return (
    <>
      <div class="head">
        <h1>Now</h1>
        <Totals tiles={tiles} />
      </div>
      <div class="with-side">
        <div>
          {tiles.length === 0 ? (
            <Empty title="No agent is at work.">
              Each session of an agent with hooks appears here.
              {next.step === 'stint init' && <ShellLine line={next.step} />}
            </Empty>
          ) : (
            <div class="tiles">
              {tiles.map((tile) => (
                <Tile key={tile.session_id} tile={tile} />
              ))}
            </div>
          )}
        </div>
        <div>
          <NextStep next={next} />
          <Findings findings={findings} />
          <Incidents incidents={view.incidents} />
        </div>
      </div>
    </>
  )
}

const Totals = ({ tiles }: { tiles: readonly SessionTile[] }) => (
  <>
    {tileStates.map((state) => {
      const count = tiles.filter((tile) => tile.state === state).length
      return (
        count > 0 && <StateMark key={state} state={state} label={`${labelOf(state)} ${shownCount(count)}`} />
      )
    })}
  </>
)

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

function Incidents({ incidents }: Pick<NowView, 'incidents'>) {
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

/** Where a tile leads: the recorded session, or else the workspace it works in. */
function linkOf({ recorded, session_id, holds, waits_for }: SessionTile): string {
  if (recorded !== null) return linkTo('sessions', session_id)
  const key = waits_for?.key ?? holds[0]?.key
  return key === undefined ? linkTo('now') : linkTo('workspaces', key)
}

function Tile({ tile }: { tile: SessionTile }) {
  const { origin, session_id, state, agent, workspace, waits_for, task, doing, pid } = tile
  const [claim] = tile.holds
  const terminal = [origin?.terminal, origin?.tmux_pane && `tmux ${origin.tmux_pane}`]
  const where = [...terminal, pid !== null && `pid ${pid}`].filter(Boolean).join(', ')
  return (
    <article class="tile" data-state={state} style={toneOf(state)} data-session={session_id}>
      <div class="line">
        <StateMark state={state} />
        <Age class="right dim small" at={tile.since} />
      </div>
      <h3 class="line">
        <a class="whole cut" href={linkOf(tile)}>
          {shown(agent ?? session_id, 60)}
        </a>
        {agent !== null && <span class="dim mono cut">{shortened(shown(session_id), 14)}</span>}
      </h3>
      {workspace !== null && (
        <div class="line small">
          <Place name={workspace} />
          {claim !== undefined && !claim.paths.includes('**') && (
            <span class="dim cut">{firstPathText(claim.paths)}</span>
          )}
        </div>
      )}
      {task !== null && <p class="cut">{shown(task)}</p>}
      {waits_for !== null && (
        <p class="small wrap">
          waits for {whatText(waits_for.paths, waits_for.name)}, held by{' '}
          {waits_for.held_by.map((id) => partyName(id)).join(', ')}
        </p>
      )}
      {doing !== null && <p class="small dim cut">{shown(doing)}</p>}
      <div class="line small dim">
        <span class="cut">{shown(where, 80)}</span>
        <span class="right">
          last act <Ago at={tile.last_at} />
        </span>
      </div>
      {claim !== undefined && (
        <div class="buttons">
          <ActionButton question={breakQuestion(claim.key, claim.name, session_id, claim.fence)} />
        </div>
      )}
    </article>
  )
}
