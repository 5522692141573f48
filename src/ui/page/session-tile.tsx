import type { SessionTile } from '../protocol.ts'
import { ActionButton, type Asked } from './actions.tsx'
import { partyName, pathsText, whatText } from './activity-sentence.ts'
import { Ago } from './clock.tsx'
import { shortened, shown } from './format.ts'
import { Place } from './parts.tsx'
import { linkTo } from './route.ts'
import { StateMark, toneOf } from './state-mark.tsx'

/** Where a tile leads: the recorded session, or else the workspace it works in. */
function linkOf({ recorded, session_id, holds, waits_for }: SessionTile): string {
  if (recorded !== null) return linkTo('sessions', session_id)
  const key = waits_for?.key ?? holds[0]?.key
  return key === undefined ? linkTo('now') : linkTo('workspaces', key)
}

const placeOf = ({ holds, waits_for, workspace, origin }: SessionTile): string | undefined =>
  holds[0]?.name ?? waits_for?.name ?? workspace ?? origin?.directory

export function SessionTileView({ tile }: { tile: SessionTile }) {
  const { origin, session_id, state, since, last_at, holds, waits_for } = tile
  const place = placeOf(tile)
  const purpose = tile.purpose ?? tile.title
  const name = tile.agent ?? 'A session'
  const terminal = [origin?.terminal, origin?.tmux_pane && `tmux ${origin.tmux_pane}`]
    .filter(Boolean)
    .join(', ')
  return (
    <article class="tile" data-state={state} data-tone={toneOf(state)} data-session={session_id}>
      <div class="line">
        <StateMark state={state} />
        <span class="right dim small" title="In this state for">
          <Ago at={since ?? last_at} />
        </span>
      </div>
      <h3 class="line">
        <a class="whole cut" href={linkOf(tile)}>
          {shown(name, 60)}
        </a>
        <span class="dim mono cut" title={shown(session_id)}>
          {shortened(shown(session_id), 14)}
        </span>
      </h3>
      {place !== undefined && (
        <div class="line small">
          <Place name={place} />
          {holds[0] !== undefined && !holds[0].paths.includes('**') && (
            <span class="dim cut">{pathsText(holds[0].paths)}</span>
          )}
        </div>
      )}
      {purpose !== null && <p class="purpose">{shown(purpose)}</p>}
      {waits_for !== null && (
        <p class="small wrap">
          waits for {whatText(waits_for.paths, waits_for.name)}, held by{' '}
          {waits_for.held_by.map((id) => partyName(id)).join(', ')}
        </p>
      )}
      {(tile.work?.text ?? tile.last_act) !== null && (
        <p class="small dim cut">{shown(tile.work?.text ?? tile.last_act ?? '')}</p>
      )}
      <div class="line small dim">
        {terminal !== '' && <span class="cut">{shown(terminal, 60)}</span>}
        {tile.pid !== null && <span>pid {tile.pid}</span>}
        <span class="right">
          last act <Ago at={last_at} />
        </span>
      </div>
      <TileActions tile={tile} />
    </article>
  )
}

function TileActions({ tile }: { tile: SessionTile }) {
  const { recorded, session_id, state, holds } = tile
  const claim = holds[0]
  return (
    <div class="buttons">
      {state === 'crashed' && recorded === 'crashed' && <ActionButton action={closeAction(session_id)} />}
      {claim !== undefined && (
        <ActionButton action={breakAction(claim.key, claim.name, session_id, claim.fence)} />
      )}
    </div>
  )
}

export const breakAction = (
  key: string,
  name: string,
  session_id: string,
  fence: number,
): Asked<'break'> => ({
  name: 'break',
  title: 'Break this claim?',
  effect: `${partyName(session_id)} loses its claim on ${name}. Its next change is refused, and the activity log names you and the reason.`,
  verb: 'Break claim',
  isDangerous: true,
  line: { label: 'Reason, for the agent and the log', required: true },
  body: (reason) => ({ key, session_id, fence, reason }),
})

export const closeAction = (session_id: string, done?: () => void): Asked<'close'> => ({
  name: 'close',
  title: 'Close this crashed session?',
  effect: `${partyName(session_id)} is recovered and closed. All that was acknowledged stays; it can be resumed later.`,
  verb: 'Close',
  body: () => ({ session_id }),
  ...(done === undefined ? {} : { done }),
})
