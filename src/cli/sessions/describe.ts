import { liveness } from '../../base/process/liveness.ts'
import { visibleText } from '../../base/text/escape.ts'
import type { Holder, Pending, SessionEvent, SessionSummary } from '../../session/index.ts'
import { formatTime } from '../text/format.ts'

/** A session as JSON answers show it. */
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

/** Formats an event as one line of text. */
export const renderEvent = ({ seq, at, type, data }: SessionEvent | Pending<SessionEvent>): string =>
  visibleText(`${seq ?? 'pending'}  ${formatTime(at)}  ${type}  ${JSON.stringify(data) ?? ''}`)
