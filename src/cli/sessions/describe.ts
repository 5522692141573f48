import { liveness } from '../../primitives/liveness.ts'
import { visibleText } from '../../primitives/visible-text.ts'
import type { Holder, SessionEvent, SessionSummary } from '../../store/store.ts'
import { shortPath } from '../text/short-path.ts'

/** A session as answers show it. */
export const describeSession = (summary: SessionSummary) => ({
  session_id: summary.id,
  state: summary.state,
  tool: summary.tool ?? null,
  title: summary.title ?? null,
  workspace: summary.workspace ?? null,
  created_at: summary.createdAt,
  last_at: summary.lastAt,
  turns: summary.turns,
  records: summary.records,
  bytes: summary.bytes,
  holder: summary.holder === undefined ? null : describeHolder(summary.holder),
})

export type SessionDescription = ReturnType<typeof describeSession>

export const describeHolder = ({ process: owner, since, beat, kind, purpose }: Holder) => ({
  pid: owner.pid,
  liveness: liveness(owner),
  since,
  beat,
  kind,
  purpose: purpose ?? null,
})

/** Enough for any line that makes sense: others write what is in it. */
const lineLength = 2000

/** A text that somebody else has chosen, in a cell of a table. */
export function cell(text: string | null, width: number): string {
  const visible = visibleText(text ?? '', lineLength)
  return visible.length > width ? `${visible.slice(0, width - 1)}…` : visible
}

/** A path as people write it; of a long one the end tells more. */
export function pathCell(path: string | null, width: number): string {
  const visible = visibleText(shortPath(path ?? ''), lineLength)
  return visible.length > width ? `…${visible.slice(1 - width)}` : visible
}

export const timeText = (at: number): string =>
  new Date(at).toISOString().replace('T', ' ').replace(/\..*$/, 'Z')

/** An event on a line for a person. */
export const renderEvent = ({ seq, at, type, data }: SessionEvent): string =>
  visibleText(`${seq}  ${timeText(at)}  ${type}  ${JSON.stringify(data) ?? ''}`, lineLength)
