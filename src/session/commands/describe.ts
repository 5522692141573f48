import { liveness } from '../../base/process/liveness.ts'
import { formatBytes } from '../../base/text/size.ts'
import { visibleText } from '../../base/text/escape.ts'
import type { Holder, SessionEvent, SessionSummary } from '../index.ts'
import { formatAge, formatDataSize, formatTime, shortPath, type Zone } from '../../cli/text/format.ts'
import type { Column } from '../../cli/text/table.ts'

/** A session as JSON answers show it. */
export const describeSession = (summary: SessionSummary) => ({
  session_id: summary.id,
  state: summary.state,
  key: summary.key ?? null,
  labels: summary.labels ?? {},
  tool: summary.tool ?? null,
  title: summary.title ?? null,
  workspace: summary.workspace ?? null,
  created_at: summary.createdAt,
  last_at: summary.lastAt,
  turns: summary.turns,
  records: summary.records,
  bytes: summary.bytes,
  disk_bytes: summary.diskBytes ?? summary.bytes,
  holder: summary.holder === undefined ? null : describeHolder(summary.holder),
})

export type SessionDescription = ReturnType<typeof describeSession>

/** The columns of a list of sessions. */
export const sessionColumns = (now: number): Column<SessionDescription>[] => [
  { title: 'ID', cell: (each) => each.session_id, cut: 'middle', least: 13 },
  { title: 'STATE', cell: (each) => each.state },
  { title: 'AGE', cell: (each) => formatAge(Math.max(0, now - each.last_at)), align: 'right' },
  { title: 'SIZE', cell: (each) => formatBytes(each.disk_bytes), align: 'right', spare: 2 },
  { title: 'DATA', cell: formatDataSize, align: 'right', spare: 0 },
  { title: 'TURNS', cell: (each) => each.turns, align: 'right', spare: 1 },
  { title: 'TOOL', cell: (each) => each.tool, cut: 'end', least: 6, spare: 3 },
  { title: 'WORKSPACE', cell: (each) => shortPath(each.workspace ?? ''), cut: 'middle', least: 12 },
  { title: 'TITLE', cell: (each) => each.title ?? each.key, cut: 'end', least: 22 },
]

export const describeHolder = ({ process: owner, since, beat, kind, purpose }: Holder) => ({
  pid: owner.pid,
  liveness: liveness(owner),
  since,
  beat,
  kind,
  purpose: purpose ?? null,
})

/** Formats an event as one line of text. */
export function renderEvent(event: SessionEvent, zone: Zone): string {
  const { seq, at, type, data } = event
  return visibleText(`${seq}  ${formatTime(at, zone)}  ${type}  ${JSON.stringify(data) ?? ''}`)
}
