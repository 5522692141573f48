import type { Lane, LaneSpan } from '../protocol.ts'

/** The stretches of time that a workspace can be shown for, in milliseconds. */
export const stretches = { '10m': 600_000, '1h': 3_600_000, '6h': 21_600_000, '24h': 86_400_000 } as const

/** Where moments stand on a line from `from` to `to`, in units of the drawing. */
export interface TimeScale {
  from: number
  to: number
  left: number
  width: number
}

export const positionOf = (at: number, { from, to, left, width }: TimeScale): number =>
  left + (Math.min(Math.max(at, from), to) - from) * (width / (to - from))

/** A span that is shorter than this many units would not be seen. */
const leastWidth = 3

/** The left edge and the width of a span; undefined if it is outside of the stretch. */
export function extentOf(span: LaneSpan, scale: TimeScale): { x: number; width: number } | undefined {
  const end = span.to ?? scale.to
  if (end < scale.from || span.from > scale.to) return undefined
  const x = positionOf(span.from, scale)
  return { x, width: Math.max(leastWidth, positionOf(end, scale) - x) }
}

const steps = [60_000, 120_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000]

/** Full minutes or hours for the axis, at most `maxCount` of them. `offsetMs` is that of the time zone. */
export function axisTimes({ from, to }: TimeScale, maxCount: number, offsetMs = 0): number[] {
  const step = steps.find((each) => (to - from) / each <= maxCount) ?? (to - from) / maxCount
  const first = Math.ceil((from - offsetMs) / step) * step + offsetMs
  return Array.from({ length: Math.floor((to - first) / step) + 1 }, (_, index) => first + index * step)
}

/** Lanes with something in this stretch; the session that was active last is first. */
export function lanesIn(lanes: readonly Lane[], scale: TimeScale): Lane[] {
  const lastOf = ({ spans, marks }: Lane): number =>
    Math.max(...spans.map((span) => span.to ?? Infinity), ...marks.map(({ at }) => at))
  return lanes
    .filter(
      ({ spans, marks }) =>
        spans.some((span) => extentOf(span, scale) !== undefined) ||
        marks.some(({ at }) => at >= scale.from && at <= scale.to),
    )
    .toSorted((a, b) => Math.sign(lastOf(b) - lastOf(a)) || 0)
}
