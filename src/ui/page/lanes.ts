import type { ClaimActivity, WorkspaceView } from '../protocol.ts'

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
    const left = ended.paths.filter((path) => !paths.includes(path))
    if (kind === 'release' && left.length > 0)
      lane.spans.push({ kind: 'held', from: at, to: null, paths: left })
    return
  }
  Object.assign(openSpan(lane, 'waited') ?? {}, { to: at, ending: activity })
  if (kind === 'wait') lane.spans.push({ kind: 'waited', from: at, to: null, paths })
  else if (kind === 'refusal') lane.marks.push(activity)
  // A claim that gets more paths is granted again, and its span goes on.
  else if (kind === 'grant' && held !== undefined) held.paths = [...new Set([...held.paths, ...paths])]
  else if (kind === 'grant') lane.spans.push({ kind: 'held', from: at, to: null, paths })
}
