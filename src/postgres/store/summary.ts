import { liveness } from '../../primitives/liveness.ts'
import type { SessionState, SessionSummary } from '../../store/store.ts'
import { standingOf } from './hold.ts'
import type { SessionRow } from './session-row.ts'

/** What a list shows of a session. */
export function summaryOf(row: SessionRow): SessionSummary {
  const { created_at: createdAt } = JSON.parse(row.manifest) as { created_at: string }
  const { id, store, tool, title, workspace, lastAt, turns, bytes, holder } = row
  return {
    id,
    store,
    state: stateOf(row),
    tool,
    title,
    workspace,
    createdAt: Date.parse(createdAt),
    lastAt,
    turns,
    records: row.ends.journal.seq,
    bytes,
    holder,
  }
}

function stateOf(row: SessionRow): SessionState {
  const standing = standingOf(row)
  if (standing === 'held')
    return row.holder !== undefined && liveness(row.holder.process) === 'unknown' ? 'locked' : 'active'
  if (row.damage !== undefined) return 'damaged'
  return standing === 'free' ? 'closed' : 'crashed'
}
