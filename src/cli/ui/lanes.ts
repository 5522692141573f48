import type { Claim, ClaimActivity, Waiter } from '../../lease/index.ts'
import type { Lane, LaneSpan } from '../../ui/protocol.ts'

/** A stretch of time, in milliseconds since the epoch. */
export interface Stretch {
  from: number
  to: number
}

/** The claims and waiters of a workspace now. */
interface Present {
  claims: readonly Pick<Claim, 'session_id' | 'fence' | 'paths' | 'acquired_at' | 'purpose' | 'origin'>[]
  waiters: readonly Pick<Waiter, 'session_id' | 'paths' | 'since' | 'origin'>[]
}

/**
 * The history of a workspace as one lane for each session: what it held and waited for, and what happened to
 * it. The log is bounded and may lack lines: an end tells how long the claim was held, and what goes on now
 * is known from the claims.
 */
export function lanesOf(
  activities: readonly ClaimActivity[],
  present: Present,
  { from, to }: Stretch,
): Lane[] {
  const lanes = new Map<string, OpenLane>()
  const laneOf = (id: string): OpenLane => {
    const lane = lanes.get(id) ?? new OpenLane(id)
    lanes.set(id, lane)
    return lane
  }
  for (const activity of activities) laneOf(activity.session_id).add(activity)
  for (const claim of present.claims) laneOf(claim.session_id).holdsNow(claim)
  for (const waiter of present.waiters) laneOf(waiter.session_id).waitsNow(waiter)
  return [...lanes.values()]
    .map((lane) => lane.between(from, to))
    .filter(({ spans, marks }) => spans.length + marks.length > 0)
    .sort((a, b) => firstOf(a) - firstOf(b))
}

const firstOf = ({ spans, marks }: Lane): number =>
  Math.min(...spans.map((span) => span.from), ...marks.map(({ at }) => at))

/** A span that has not ended yet, as far as the log was read. */
type OpenSpan = LaneSpan & { isPresent?: boolean }

class OpenLane {
  readonly #lane: Lane
  readonly #spans: OpenSpan[] = []
  #held: OpenSpan | undefined
  #waited: OpenSpan | undefined
  #lastAt = 0

  constructor(session_id: string) {
    this.#lane = { session_id, agent: null, purpose: null, spans: [], marks: [] }
  }

  add(activity: ClaimActivity): void {
    const { kind, at, paths, by = null, origin, purpose } = activity
    this.#lastAt = at
    this.#lane.agent ??= origin?.agent ?? null
    if (purpose !== null) this.#lane.purpose = purpose
    if (kind === 'grant') this.#grant(activity)
    else if (kind === 'wait') {
      this.#endWait(at, null)
      this.#waited = this.#begin('waited', at, paths, by)
    } else if (kind === 'release' || kind === 'takeover' || kind === 'break') this.#endHold(activity)
    else {
      if (kind === 'refusal') this.#endWait(at, 'refusal')
      this.#lane.marks.push({ at, kind, by, paths })
    }
  }

  /** A claim that gets more paths is granted again, and its span goes on. */
  #grant({ at, paths }: ClaimActivity): void {
    this.#endWait(at, 'grant')
    if (this.#held === undefined) this.#held = this.#begin('held', at, paths, null)
    else this.#held.paths = [...new Set([...this.#held.paths, ...paths])]
  }

  #endHold(activity: ClaimActivity): void {
    const { kind, at, paths, by = null, reason = null, held_ms = 0 } = activity
    const held = this.#held ?? this.#begin('held', at - held_ms, paths, null)
    const left = held.paths.filter((path) => !paths.includes(path))
    this.#held = undefined
    // A session whose claim was taken over may have been dead for hours.
    held.to = kind === 'takeover' ? Math.max(held.from, Math.min(at, held.from + held_ms)) : at
    Object.assign(held, { end: kind, by, reason })
    if (kind === 'release' && left.length > 0) this.#held = this.#begin('held', at, left, null)
  }

  #endWait(at: number, end: string | null): void {
    if (this.#waited !== undefined) Object.assign(this.#waited, { to: at, end })
    this.#waited = undefined
  }

  #begin(kind: LaneSpan['kind'], from: number, paths: readonly string[], by: string | null): OpenSpan {
    const span: OpenSpan = { kind, from, to: null, paths, end: null, by, reason: null }
    this.#spans.push(span)
    return span
  }

  holdsNow({ acquired_at, paths, purpose, origin }: Present['claims'][number]): void {
    this.#held ??= this.#begin('held', acquired_at, paths, null)
    this.#held.isPresent = true
    this.#lane.agent ??= origin?.agent ?? null
    this.#lane.purpose = purpose ?? this.#lane.purpose
  }

  waitsNow({ since, paths, origin }: Present['waiters'][number]): void {
    this.#waited ??= this.#begin('waited', since, paths, null)
    this.#waited.isPresent = true
    this.#lane.agent ??= origin?.agent ?? null
  }

  /** The lane, cut to a stretch of time. A span without an end that is not present ended at some time. */
  between(from: number, to: number): Lane {
    const spans = this.#spans.map(({ isPresent, ...span }) =>
      span.to === null && isPresent !== true ? { ...span, to: Math.max(span.from, this.#lastAt) } : span,
    )
    return {
      ...this.#lane,
      spans: spans.filter((span) => span.from <= to && (span.to ?? to) >= from),
      marks: this.#lane.marks.filter(({ at }) => at >= from && at <= to),
    }
  }
}
