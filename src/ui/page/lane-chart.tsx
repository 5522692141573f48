import type { WorkspaceView } from '../protocol.ts'
import { partyName, whatText } from './activity-sentence.ts'
import { shortDuration, shown } from './format.ts'
import { type LaneSpan, lanesOf } from './lanes.ts'
import { Empty } from './parts.tsx'
import { labelOf, toneOf } from './state-mark.tsx'

/** Claims over time, a lane for each session. The list of activities has the same in words. */
export function LaneChart({ view }: { view: WorkspaceView }) {
  const { name, from, to } = view
  const lanes = lanesOf(view)
  if (lanes.length === 0)
    return <Empty title="No session was here in this time.">Choose a longer stretch.</Empty>
  const percent = (at: number): number => ((Math.min(Math.max(at, from), to) - from) / (to - from)) * 100
  return (
    <div class="lanes" role="img" aria-label="Claims over time; the list below has them in words">
      <div class="axis small dim">
        {[0, 1, 2, 3, 4].map((quarter) => (
          <span key={quarter}>{hourAndMinute(from + ((to - from) * quarter) / 4)}</span>
        ))}
      </div>
      {lanes.map((lane) => (
        <div class="lane" key={lane.session_id}>
          <p class="cut small">
            {partyName(lane.session_id, lane.agent)}
            {lane.purpose !== null && <span class="dim">: {shown(lane.purpose, 90)}</span>}
          </p>
          <svg width="100%" height="20">
            {lane.spans.map((span) => (
              <rect
                key={`${span.kind} ${span.from}`}
                class={classOf(span)}
                x={`${percent(span.from)}%`}
                width={`${Math.max(0.4, percent(span.to ?? to) - percent(span.from))}%`}
                y={1}
                height={18}
                rx={4}
              >
                <title>{spanText(span, name, to)}</title>
              </rect>
            ))}
            {lane.marks.map(({ at, kind, by }) => (
              <circle class="mark" key={at} style={toneOf(kind)} cx={`${percent(at)}%`} cy={10} r={5}>
                <title>{`${labelOf(kind)}${by === undefined ? '' : `, by ${partyName(by)}`}`}</title>
              </circle>
            ))}
          </svg>
        </div>
      ))}
    </div>
  )
}

function classOf({ kind, paths, ending }: LaneSpan): string {
  if (kind === 'waited') return kind
  const isLost = ending?.kind === 'takeover' || ending?.kind === 'break'
  return `held${paths.includes('**') ? '' : ' part'}${isLost ? ' lost' : ''}`
}

const hourAndMinute = (at: number): string =>
  new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })

function spanText({ kind, from, to, paths, ending }: LaneSpan, name: string, now: number): string {
  const what = `${kind === 'held' ? 'held' : 'waited for'} ${whatText(paths, name)} for ${shortDuration((to ?? now) - from)}`
  if (ending === undefined) return to === null ? `${what}, still` : what
  const by = ending.by === undefined ? '' : ` (${partyName(ending.by)})`
  const reason = ending.reason === undefined ? '' : `: ${shown(ending.reason)}`
  return `${what}, then ${labelOf(ending.kind).toLowerCase()}${by}${reason}`
}
