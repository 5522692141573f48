import type { SessionTile } from '../protocol.ts'
import { ActionButton, type Asked } from './actions.tsx'
import { partyName, firstPathText, whatText } from './activity-sentence.ts'
import { Age, Ago } from './clock.tsx'
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
      <div class="buttons">
        {tile.recorded === 'crashed' && <ActionButton action={closeAction(session_id)} />}
        {claim !== undefined && (
          <ActionButton action={breakAction(claim.key, claim.name, session_id, claim.fence)} />
        )}
      </div>
    </article>
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
  needsReason: true,
  body: (reason) => ({ key, session_id, fence, reason }),
})

export const closeAction = (session_id: string): Asked<'close'> => ({
  name: 'close',
  title: 'Close this crashed session?',
  effect: `${partyName(session_id)} is recovered and closed. All that was acknowledged stays; it can be resumed later.`,
  verb: 'Close',
  body: () => ({ session_id }),
})
