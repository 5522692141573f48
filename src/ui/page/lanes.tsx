import type { ClaimActivity, WorkspaceView } from '../server/protocol.ts'
import { partyName, shortDuration, shown, whatText } from './format.ts'
import { Empty, labelOf, toneOf } from './parts.tsx'

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

/** A time in which a session held a claim, or waited for one; times are milliseconds since the epoch. */
export interface LaneSpan {
  kind: 'held' | 'waited'
  from: number
  /** Null while it lasts. */
  to: number | null
  paths: readonly string[]
  /** The activity that ended it; missing while it lasts, or if the log lacks it. */
  ending?: ClaimActivity
}

/** What one session held and waited for in a workspace, and when it was refused. */
interface Lane {
  session_id: string
  agent?: string
  purpose: string | null
  spans: LaneSpan[]
  marks: ClaimActivity[]
  lastAt: number
}

/**
 * The history of a workspace as one lane for each session, the last active one first. The log is bounded and
 * may lack lines: an end tells how long the claim was held, and what goes on now is known from the claims.
 */
export function lanesOf(view: Pick<WorkspaceView, 'activities' | 'claims' | 'waiters'>): Lane[] {
  const { activities, claims, waiters } = view
  const lanes = new Map<string, Lane>()
  const laneOf = (session_id: string): Lane => {
    const lane = lanes.get(session_id) ?? { session_id, purpose: null, spans: [], marks: [], lastAt: 0 }
    lanes.set(session_id, lane)
    return lane
  }
  for (const activity of activities) addActivity(laneOf(activity.session_id), activity)
  const present = [
    ...claims.map((claim) => ({ ...claim, kind: 'held' as const, from: claim.acquired_at })),
    ...waiters.map((waiter) => ({ ...waiter, kind: 'waited' as const, from: waiter.since, purpose: null })),
  ]
  for (const { session_id, kind, from, paths, origin, purpose } of present) {
    const lane = laneOf(session_id)
    if (openSpan(lane, kind) === undefined) lane.spans.push({ kind, from, to: null, paths })
    lane.agent ??= origin?.agent
    lane.purpose = purpose ?? lane.purpose
  }
  // A span whose end the log lacks, and that does not go on now, ended at some time after the last line.
  for (const lane of lanes.values())
    for (const span of lane.spans.filter(({ to }) => to === null))
      if (!present.some(({ session_id, kind }) => session_id === lane.session_id && kind === span.kind))
        span.to = Math.max(span.from, lane.lastAt)
  const lastOf = ({ spans, lastAt }: Lane): number =>
    spans.some(({ to }) => to === null) ? Infinity : lastAt
  return [...lanes.values()].sort((a, b) => Math.sign(lastOf(b) - lastOf(a)) || 0)
}

const openSpan = ({ spans }: Lane, kind: LaneSpan['kind']): LaneSpan | undefined =>
  spans.find((span) => span.kind === kind && span.to === null)

function addActivity(lane: Lane, activity: ClaimActivity): void {
  const { kind, at, paths, origin, purpose, held_ms = 0 } = activity
  const held = openSpan(lane, 'held')
  lane.lastAt = at
  lane.agent ??= origin?.agent
  lane.purpose = purpose ?? lane.purpose
  if (kind === 'release' || kind === 'takeover' || kind === 'break') {
    const ended: LaneSpan = held ?? { kind: 'held', from: at - held_ms, to: null, paths }
    if (held === undefined) lane.spans.push(ended)
    Object.assign(ended, { to: at, ending: activity })
    const otherPaths = ended.paths.filter((path) => !paths.includes(path))
    if (kind === 'release' && otherPaths.length > 0)
      lane.spans.push({ kind: 'held', from: at, to: null, paths: otherPaths })
    return
  }
  Object.assign(openSpan(lane, 'waited') ?? {}, { to: at, ending: activity })
  if (kind === 'wait') lane.spans.push({ kind: 'waited', from: at, to: null, paths })
  else if (kind === 'refusal') lane.marks.push(activity)
  // A claim that gets more paths is granted again, and its span goes on.
  else if (kind === 'grant' && held !== undefined) held.paths = [...new Set([...held.paths, ...paths])]
  else if (kind === 'grant') lane.spans.push({ kind: 'held', from: at, to: null, paths })
}
