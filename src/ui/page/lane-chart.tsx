import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Lane, LaneSpan } from '../protocol.ts'
import { partyName, pathsText } from './activity-sentence.ts'
import { shortDuration, shown } from './format.ts'
import { axisTimes, extentOf, lanesIn, positionOf, type TimeScale } from './lane-scale.ts'
import { labelOf } from './state-mark.tsx'

const size = { lane: 46, bar: 18, top: 28, margin: 14 }

/** Claims over time, a lane for each session. Its words stand in the list of activities, too. */
export function LaneChart({ lanes, from, to }: { lanes: readonly Lane[]; from: number; to: number }) {
  const frame = useRef<HTMLDivElement>(null)
  const width = useSignal(800)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      width.value = Math.max(352, entry?.contentRect.width ?? 800)
    })
    if (frame.current !== null) observer.observe(frame.current)
    return () => observer.disconnect()
  }, [])
  const scale: TimeScale = { from, to, left: size.margin, width: width.value - 2 * size.margin }
  const drawn = lanesIn(lanes, scale)
  const height = size.top + drawn.length * size.lane + 8
  return (
    <div class="lanes" ref={frame}>
      <svg viewBox={`0 0 ${width.value} ${height}`} height={height} role="img" aria-label={summaryOf(drawn)}>
        {axisTimes(scale, Math.max(3, Math.floor(width.value / 110)), zoneOffset(to)).map((at) => (
          <g key={at}>
            <line class="grid" x1={positionOf(at, scale)} x2={positionOf(at, scale)} y1={20} y2={height} />
            <text class="axis" x={positionOf(at, scale)} y={14} text-anchor="middle">
              {new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })}
            </text>
          </g>
        ))}
        {drawn.map((lane, index) => (
          <LaneRow key={lane.session_id} lane={lane} scale={scale} y={size.top + index * size.lane} />
        ))}
      </svg>
    </div>
  )
}

const zoneOffset = (at: number): number => new Date(at).getTimezoneOffset() * 60_000

const summaryOf = (lanes: readonly Lane[]): string =>
  `Claims of ${lanes.length} ${lanes.length === 1 ? 'session' : 'sessions'} over time; the list below has them in words`

function LaneRow({ lane, scale, y }: { lane: Lane; scale: TimeScale; y: number }) {
  const barY = y + 20
  const purpose = lane.purpose === null ? '' : `: ${shown(lane.purpose, 90)}`
  return (
    <g>
      <text x={size.margin} y={y + 13}>
        {partyName(lane.session_id, lane.agent)}
        <tspan class="axis">{purpose}</tspan>
      </text>
      {lane.spans.map((span) => {
        const extent = extentOf(span, scale)
        if (extent === undefined) return null
        const isPart = span.kind === 'held' && pathsText(span.paths) !== 'all of it'
        return (
          <rect
            key={`${span.kind} ${span.from}`}
            class={isPart ? 'held part' : span.kind}
            data-end={span.end ?? 'none'}
            {...extent}
            y={barY}
            height={size.bar}
            rx={4}
          >
            <title>{spanText(span, scale.to)}</title>
          </rect>
        )
      })}
      {lane.marks
        .filter(({ at }) => at >= scale.from && at <= scale.to)
        .map((mark) => (
          <circle
            key={`${mark.kind} ${mark.at}`}
            class="mark"
            data-state={mark.kind}
            cx={positionOf(mark.at, scale)}
            cy={barY + size.bar / 2}
            r={5}
          >
            <title>
              {`${labelOf(mark.kind)}: ${pathsText(mark.paths)}${mark.by === null ? '' : `, by ${partyName(mark.by)}`}`}
            </title>
          </circle>
        ))}
    </g>
  )
}

function spanText({ kind, from, to, paths, end, by, reason }: LaneSpan, now: number): string {
  const what = `${kind} ${pathsText(paths)} for ${shortDuration((to ?? now) - from)}`
  const other = by === null ? '' : ` (${partyName(by)})`
  return `${what}${end === null ? ', still' : `, then ${labelOf(end).toLowerCase()}${other}`}${reason === null ? '' : `: ${shown(reason)}`}`
}
