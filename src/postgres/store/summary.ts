import { sessionState, type SessionSummary } from '../../session/index.ts'
import { rowStanding } from './session-hold.ts'
import type { SessionRow } from './session-row.ts'

/** What a list shows of a session. */
export function summaryOf(row: SessionRow): SessionSummary {
  const createdAt = creationOf(row)
  const { id, store, tool, title, workspace, lastAt, turns, bytes, holder } = row
  return {
    id,
    store,
    state: sessionState(rowStanding(row), holder, createdAt === undefined || row.damage !== undefined),
    tool,
    title,
    workspace,
    createdAt: createdAt ?? lastAt,
    lastAt,
    turns,
    records: row.ends.journal.seq,
    bytes,
    holder,
  }
}

/** Undefined if the manifest makes no sense: one broken session must not hide the others from a list. */
function creationOf({ manifest }: SessionRow): number | undefined {
  try {
    const { created_at: text } = JSON.parse(manifest) as { created_at: unknown }
    const at = typeof text === 'string' ? Date.parse(text) : Number.NaN
    return Number.isNaN(at) ? undefined : at
  } catch {
    return undefined
  }
}
