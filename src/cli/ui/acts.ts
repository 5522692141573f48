import type { DriverStore } from '../../session/index.ts'
import type { ActPage, ActRow } from '../../ui/protocol.ts'
import { type AuditLine, NewestItems } from '../audit/audit-lines.ts'
import type { RequestQuery } from './request-query.ts'
import { openSession } from './session-views.ts'

/** Acts with their outcomes, and notes, of one session: the newest of those that match, oldest first. */
export async function readActPage(store: DriverStore, id: string, query: RequestQuery): Promise<ActPage> {
  const inspection = await openSession(store, id)
  const since = query.count('since') ?? 0
  const until = query.count('until') ?? Number.POSITIVE_INFINITY
  const before = query.count('before') ?? Number.POSITIVE_INFINITY
  const newest = new NewestItems<ActRow>(query.limit(200, 1000))
  /** Acts without an outcome so far. */
  const open = new Map<string, ActRow>()
  let total = 0
  for await (const line of inspection.audit()) {
    const begun = line.type === 'outcome' ? open.get(line.act ?? '') : undefined
    if (begun !== undefined) {
      begun.outcome = outcomeOf(line, begun.at)
      open.delete(line.act ?? '')
      continue
    }
    const row = actRow(line)
    total += 1
    if (row.act !== null && line.type === 'intent') open.set(row.act, row)
    if (row.at >= since && row.at <= until && (row.seq ?? 0) < before) newest.push(row)
  }
  return { acts: newest.items, total, unsettled: open.size }
}

const outcomeOf = ({ at, ok, error }: AuditLine, begunAt: number): NonNullable<ActRow['outcome']> => ({
  at,
  duration_ms: Math.max(0, at - begunAt),
  ok: ok === true,
  error: error?.message ?? null,
})

/** An outcome whose intent is missing, as after a repair, is an act that took no time. */
const actRow = (line: AuditLine): ActRow => ({
  seq: line.seq ?? null,
  act: line.act ?? null,
  at: line.at,
  type: line.type === 'note' ? 'note' : 'act',
  action: line.action,
  subject: line.subject ?? null,
  key: line.key ?? null,
  outcome: line.type === 'outcome' ? outcomeOf(line, line.at) : null,
  detail: line.detail ?? null,
})
